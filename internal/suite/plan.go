package suite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
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

// Error implements error.
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
		s := Source{File: arg}
		var err error
		if IsFile(arg) {
			s.Text, err = scenarios.ReadSource(arg)
			if err != nil {
				err = fmt.Errorf("read scenario: %w", err)
			}
		} else {
			s.File += ".yaml"
			s.Text, err = scenarios.Source(arg)
		}
		if err != nil {
			return nil, err
		}
		if s.Scenario, err = scenarios.Parse(s.File, s.Text); err != nil {
			return nil, err
		}
		for _, q := range list {
			if q.Scenario.Name == s.Scenario.Name {
				return nil, &TwiceError{s.Scenario.Name, q.File, s.File}
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// Plan lists the runs of scenarios with locks, for seeds many seeds from seed on,
// and the skipped runs. users is one of [UserChoices], for locks that are not
// built in. carries reports whether a world can carry a scenario that applies to a
// lock, and if not, why. A nil carries accepts all.
func Plan(list []Source, locks []*locks.Subject, seed uint64, seeds int, users string, carries func(*scenarios.Scenario, *locks.Subject) (ok bool, reason string)) (jobs []Job, skipped []results.Skip) {
	for _, p := range list {
		for _, l := range locks {
			ok, reason := p.Scenario.Applies(l)
			if ok && carries != nil {
				if ok, reason = carries(p.Scenario, l); !ok {
					reason = results.NotRun + reason
				}
			}
			if !ok {
				skipped = append(skipped, results.Skip{Scenario: p.Scenario.Name, Lock: l.Name(), Reason: reason})
				continue
			}
			play, missing := UsersOf(p.Scenario, l, users)
			if missing != "" {
				skipped = append(skipped, results.Skip{Scenario: p.Scenario.Name, Lock: l.Name(), User: history.Careful, Reason: missing})
			}
			for _, user := range play {
				for i := range seeds {
					jobs = append(jobs, Job{ID: len(jobs), Scenario: p.Scenario.Name, File: p.File, Source: string(p.Text), Lock: l.Name(), Seed: seed + uint64(i), User: user})
				}
			}
		}
	}
	return jobs, skipped
}

// ErrNothing reports that no scenario applies to any of the locks.
var ErrNothing = errors.New("there is nothing to run")

// WhyNothing returns the reasons of the first skips.
func WhyNothing(skipped []results.Skip) []string {
	var reasons []string
	for _, s := range skipped[:min(len(skipped), 5)] {
		if why, ok := strings.CutPrefix(s.Reason, results.NotRun); ok {
			reasons = append(reasons, fmt.Sprintf("%s cannot be run with %s here: %s", s.Scenario, s.Lock, why))
		} else {
			reasons = append(reasons, fmt.Sprintf("%s does not apply to %s: %s", s.Scenario, s.Lock, s.Reason))
		}
	}
	return reasons
}

// Histories are the paths of the histories of jobs in a run directory.
func Histories(jobs []Job) []string {
	var paths []string
	for _, j := range jobs {
		paths = append(paths, HistoryPath(j.Scenario, j.Lock, j.Seed, j.User))
	}
	return paths
}

// Into says that jobs store their histories in a run directory.
func Into(d Dir, jobs []Job) {
	for i := range jobs {
		jobs[i].Path = filepath.ToSlash(HistoryPath(jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed, jobs[i].User))
		jobs[i].History = d.File(jobs[i].Path)
	}
}
