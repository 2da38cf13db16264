package suite

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Source is a scenario with the file that it came from.
type Source struct {
	Scenario *scenarios.Scenario
	File     string // for a built-in one its name and .yaml
	Text     []byte
}

// IsFile reports whether an argument names a file rather than a built-in scenario:
// it has a slash, or ends in .yaml or .yml.
func IsFile(arg string) bool {
	return strings.ContainsAny(arg, "/\\") || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// TwiceError reports two sources with one name.
type TwiceError struct{ Name, First, Second string }

func (e *TwiceError) Error() string {
	return fmt.Sprintf("scenario %s is given twice (%s and %s)", e.Name, e.First, e.Second)
}

// Pick reads scenarios: built-in ones by name, others by file; without an
// argument all built-in ones. Its errors are a [*TwiceError], those of
// [scenarios.Source] and [scenarios.Parse], and those of reading a file.
func Pick(args []string) ([]Source, error) {
	if len(args) == 0 {
		args = scenarios.Names()
	}
	var list []Source
	for _, arg := range args {
		pick := BuiltIn
		if IsFile(arg) {
			pick = ReadSource
		}
		s, err := pick(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, checkOnce(list)
}

func BuiltIn(name string) (Source, error) {
	text, err := scenarios.Source(name)
	if err != nil {
		return Source{}, err
	}
	return parseSource(name+".yaml", text)
}

func ReadSource(file string) (Source, error) {
	text, err := scenarios.ReadSource(file)
	if err != nil {
		return Source{}, fmt.Errorf("read scenario: %w", err)
	}
	return parseSource(file, text)
}

func parseSource(file string, text []byte) (Source, error) {
	s, err := scenarios.Parse(file, text)
	return Source{Scenario: s, File: file, Text: text}, err
}

// checkOnce refuses two scenarios with one name.
func checkOnce(list []Source) error {
	files := map[string]string{}
	for _, s := range list {
		if first, twice := files[s.Scenario.Name]; twice {
			return &TwiceError{s.Scenario.Name, first, s.File}
		}
		files[s.Scenario.Name] = s.File
	}
	return nil
}

// Plan is the runs to play, with the options that they came from.
type Plan struct {
	Options
	Sources []Source
	Jobs    []Job
	Skipped []results.Skip
}

// NewPlan lists the runs that options ask for, with the reasons for those that
// cannot be played. It plays nothing. Its errors are those of [Pick], of the
// options' world, a [*profile.UnknownError], and a [*NothingError].
func NewPlan(ctx context.Context, o Options) (Plan, error) {
	list, err := Pick(o.Scenarios)
	if err != nil {
		return Plan{}, err
	}
	if o.World == nil {
		o.World = Sim{}
	}
	found, err := o.World.Locks(ctx, o.Locks)
	if err != nil {
		return Plan{}, err
	}
	o.Seed, o.Seeds, o.Users = max(o.Seed, 1), max(o.Seeds, 1), cmp.Or(o.Users, BothUsers)
	// The scenarios that the options name; none stands for all.
	named := english.Words(list[:min(len(o.Scenarios), len(list))], func(s Source) string { return s.Scenario.Name })
	o.Accepted = o.Accepted.Of(named, o.Locks, o.Users)
	for i, l := range found {
		if found[i], err = l.On(o.Server); err != nil {
			return Plan{}, err
		}
	}
	p := Plan{Options: o}
	for _, s := range list {
		if err := p.Add(s, found, o.Seed); err != nil {
			return Plan{}, err
		}
	}
	if len(p.Jobs) == 0 {
		return Plan{}, &NothingError{p.Skipped}
	}
	return p, nil
}

// appliesElsewhere reports whether a scenario applies to a lock on the servers that it is
// played on when the options name none.
func (p *Plan) appliesElsewhere(s Source, l *locks.Lock) bool {
	if p.Server == "" {
		return false
	}
	own, err := l.On(profile.With(l.Sends).Name)
	ok, _ := s.Scenario.Applies(own)
	return err == nil && ok
}

// Add adds the runs of a scenario with locks, and the skipped ones.
func (p *Plan) Add(s Source, with []*locks.Lock, seed uint64) error {
	p.Sources = append(p.Sources, s)
	for _, l := range with {
		ok, reason := s.Scenario.Applies(l)
		if !ok && p.appliesElsewhere(s, l) {
			reason = results.NotRun + reason
		}
		if ok {
			what, err := p.World.Lacks(s.Scenario, l)
			if err != nil {
				return err
			}
			if what != "" {
				ok, reason = false, results.NotRun+what
			}
		}
		if !ok {
			p.Skipped = append(p.Skipped, results.Skip{Scenario: s.Scenario.Name, Lock: l.Name(), Reason: reason})
			continue
		}
		users, missing := UsersOf(s.Scenario, l, p.Users)
		if missing != "" {
			p.Skipped = append(p.Skipped, results.Skip{Scenario: s.Scenario.Name, Lock: l.Name(), User: history.Careful, Reason: missing})
		}
		for _, user := range users {
			for i := range p.Seeds {
				p.Jobs = append(p.Jobs, Job{ID: len(p.Jobs), Scenario: s.Scenario.Name, File: s.File, Source: string(s.Text), Lock: l.Name(), Seed: seed + uint64(i), User: user, Server: p.Server})
			}
		}
	}
	return nil
}

// NothingError reports that no scenario applies to any of the locks.
type NothingError struct{ Skipped []results.Skip }

func (*NothingError) Error() string { return "there is nothing to run" }

// Reasons returns the reasons of the first skips.
func (e *NothingError) Reasons() []string {
	var reasons []string
	for _, s := range e.Skipped[:min(len(e.Skipped), 5)] {
		if why, ok := strings.CutPrefix(s.Reason, results.NotRun); ok {
			reasons = append(reasons, fmt.Sprintf("%s cannot be run with %s here: %s", s.Scenario, s.Lock, why))
		} else {
			reasons = append(reasons, fmt.Sprintf("%s does not apply to %s: %s", s.Scenario, s.Lock, s.Reason))
		}
	}
	return reasons
}
