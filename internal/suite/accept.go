package suite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Accepted is a list of accepted violations, as a file has it. A violation that is not on
// the list fails a build, and so does one on the list that no run shows any more.
type Accepted struct {
	Accepted []locks.Known `yaml:"accepted"`
}

const maxList = 1 << 20

// ReadAccepted reads a list from a file. It refuses unknown keys, unknown properties and
// violations without a reason.
func ReadAccepted(path string) (Accepted, error) {
	f, err := os.Open(path)
	if err != nil {
		return Accepted{}, err
	}
	defer f.Close()
	data, err := input.ReadAll(f, maxList)
	if err != nil {
		return Accepted{}, fmt.Errorf("read %s: %w", path, err)
	}
	l, err := parseAccepted(data)
	if err != nil {
		return Accepted{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func parseAccepted(data []byte) (Accepted, error) {
	var l Accepted
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&l); err != nil {
		return Accepted{}, errors.New(input.Plain(yaml.FormatError(err, false, false)))
	}
	for i, v := range l.Accepted {
		known := slices.ContainsFunc(checker.Properties(), func(p checker.PropertyInfo) bool { return p.Name == v.Property })
		switch {
		case v.Everywhere() && v.Says == "":
			return Accepted{}, fmt.Errorf("accepted[%d]: scenario and lock are required, unless says names a part of the verdict", i)
		case v.Everywhere() && !v.Sometimes && !v.Undecided:
			return Accepted{}, fmt.Errorf("accepted[%d]: %s stands for cells that it does not name, so it needs sometimes: true", i, v)
		case v.Undecided && (v.Property != "" || v.Class != ""):
			return Accepted{}, fmt.Errorf("accepted[%d]: undecided stands for every property; leave out property and class", i)
		case !v.Undecided && !known:
			return Accepted{}, fmt.Errorf("accepted[%d]: unknown property %q", i, v.Property)
		case v.Because == "":
			return Accepted{}, fmt.Errorf("accepted[%d]: %s has no reason", i, v)
		case slices.ContainsFunc(l.Accepted[:i], func(w locks.Known) bool {
			return v.String() == w.String()
		}):
			return Accepted{}, fmt.Errorf("accepted[%d]: %s is accepted twice", i, v)
		}
	}
	return l, nil
}

// Of returns the entries of some scenarios, of some locks and of one kind of user, for a
// command that names these. None named, a lock "all" and a user "both" stand for all.
func (l Accepted) Of(scenarios, named []string, user string) Accepted {
	return Accepted{slices.DeleteFunc(slices.Clone(l.Accepted), func(v locks.Known) bool {
		lock, careful := strings.CutSuffix(v.Lock, " ("+history.Careful+")")
		return len(scenarios) > 0 && v.Scenario != "" && !slices.Contains(scenarios, v.Scenario) ||
			len(named) > 0 && lock != "" && !slices.Contains(named, lock) && !slices.Contains(named, "all") ||
			careful && user == history.Careless || !careful && lock != "" && user == history.Careful
	})}
}

// Accepts reports whether the list accepts each unexpected verdict of a run.
func (l Accepted) Accepts(r results.Run) bool {
	one := results.Results{Runs: []results.Run{r}}
	l.Apply(&one)
	return one.Runs[0].AsExpected
}

// Apply marks the violations of results that the list accepts, and names those of
// the list that no run shows and some run must. It changes res, and undoes what
// another list has marked.
func (l Accepted) Apply(res *results.Results) {
	for i := range res.Runs {
		r := &res.Runs[i]
		marked := len(r.Accepted) > 0
		r.Accepted = nil
		for _, v := range l.Accepted {
			if !v.Of(r.Scenario, r.Column()) {
				continue
			}
			for p, got := range r.Verdicts {
				if !v.Matches(p, got) {
					continue
				}
				if r.Accepted == nil {
					r.Accepted = map[checker.Property]string{}
				}
				if r.Accepted[p] == "" || !v.Everywhere() {
					r.Accepted[p] = v.Because
				}
			}
		}
		if (marked || len(r.Accepted) > 0) && r.Failure == "" {
			r.AsExpected = true
			for p := range r.Verdicts {
				r.AsExpected = r.AsExpected && r.Matches(p)
			}
		}
	}
	res.Gone = english.Words(Gone(l.Accepted, res.Runs), locks.Known.String)
	res.Summary = results.Summarize(res.Runs)
}

// Gone returns the known violations that no run shows and some run must.
func Gone(list []locks.Known, runs []results.Run) []locks.Known {
	return slices.DeleteFunc(slices.Clone(list), func(k locks.Known) bool {
		return !k.Required() || slices.ContainsFunc(runs, func(r results.Run) bool {
			shown := func(p checker.Property) bool { return k.Matches(p, r.Verdicts[p]) }
			return k.Of(r.Scenario, r.Column()) && slices.ContainsFunc(slices.Collect(maps.Keys(r.Verdicts)), shown)
		})
	})
}
