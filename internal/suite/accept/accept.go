// Package accept compares the violations of results with a list of accepted ones,
// and the cells that a run may leave undecided.
// A violation that is not on the list fails a build, and so does one on the list
// that no run shows any more.
package accept

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/reports/results"
)

// List is the accepted violations, as a file has them.
type List struct {
	Accepted []Violation `yaml:"accepted"`
}

// Violation is one accepted violation, of any seed.
type Violation struct {
	Scenario string           `yaml:"scenario"`
	Lock     string           `yaml:"lock"`
	Property checker.Property `yaml:"property"`
	Class    string           `yaml:"class"` // of an exclusion violation; empty for any
	Reason   string           `yaml:"reason"`
	// Says is a part of what the verdict says; empty for any verdict. An entry with it
	// needs no scenario and no lock. It then stands for one cause in all of them, which
	// depends on timing, so that nobody can name its cells.
	Says string `yaml:"says"`
	// Sometimes says that a run need not show it, as it depends on timing.
	Sometimes bool `yaml:"sometimes"`
	// Undecided says that a run of the cell may decide nothing, because the lock
	// ends it before the fault. It accepts each unknown verdict, and no violation.
	// It has no property, and a run need not show it.
	Undecided bool `yaml:"undecided"`
}

func (v Violation) String() string {
	what, where := cmp.Or(v.Lock, "every lock"), cmp.Or(v.Scenario, "every scenario")
	words := fmt.Sprintf("%s of %s in %s", v.Property, what, where)
	if v.Undecided {
		words = fmt.Sprintf("undecided runs of %s in %s", what, where)
	}
	if v.Class != "" {
		words += " (" + v.Class + ")"
	}
	if v.Says != "" {
		words += fmt.Sprintf(", saying %q", v.Says)
	}
	return words
}

// everywhere reports whether the entry stands for cells that it does not name.
func (v Violation) everywhere() bool { return v.Scenario == "" || v.Lock == "" }

// of reports whether the entry is about the cell of a run.
func (v Violation) of(r results.Run) bool {
	return (v.Scenario == "" || v.Scenario == r.Scenario) && (v.Lock == "" || v.Lock == r.Column())
}

const maxList = 1 << 20

// Read reads a list from a file. It refuses unknown keys, unknown properties and
// violations without a reason.
func Read(path string) (List, error) {
	f, err := os.Open(path)
	if err != nil {
		return List{}, err
	}
	defer f.Close()
	data, err := input.ReadAll(f, maxList)
	if err != nil {
		return List{}, fmt.Errorf("read %s: %w", path, err)
	}
	l, err := parse(data)
	if err != nil {
		return List{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func parse(data []byte) (List, error) {
	var l List
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&l); err != nil {
		return List{}, errors.New(input.Plain(yaml.FormatError(err, false, false)))
	}
	for i, v := range l.Accepted {
		known := slices.ContainsFunc(checker.Properties(), func(p checker.PropertyInfo) bool { return p.Name == v.Property })
		switch {
		case v.everywhere() && v.Says == "":
			return List{}, fmt.Errorf("accepted[%d]: scenario and lock are required, unless says names a part of the verdict", i)
		case v.everywhere() && !v.Sometimes && !v.Undecided:
			return List{}, fmt.Errorf("accepted[%d]: %s stands for cells that it does not name, so it needs sometimes: true", i, v)
		case v.Undecided && (v.Property != "" || v.Class != ""):
			return List{}, fmt.Errorf("accepted[%d]: undecided stands for every property; leave out property and class", i)
		case !v.Undecided && !known:
			return List{}, fmt.Errorf("accepted[%d]: unknown property %q", i, v.Property)
		case v.Reason == "":
			return List{}, fmt.Errorf("accepted[%d]: %s has no reason", i, v)
		case slices.ContainsFunc(l.Accepted[:i], func(w Violation) bool {
			return v.String() == w.String()
		}):
			return List{}, fmt.Errorf("accepted[%d]: %s is accepted twice", i, v)
		}
	}
	return l, nil
}

// accepts reports whether the entry stands for a verdict of its cell.
func (v Violation) accepts(p checker.Property, got checker.Verdict) bool {
	if !strings.Contains(got.Reason, v.Says) {
		return false
	}
	if v.Undecided {
		return got.Outcome == checker.Unknown
	}
	return p == v.Property && got.Outcome == checker.Violated && (v.Class == "" || v.Class == got.Class)
}

// Of returns the entries of some scenarios, of some locks and of one kind of user,
// for a command that names these. None named, a lock "all" and a user "both" stand
// for all.
func (l List) Of(scenarios, locks []string, user string) List {
	return List{slices.DeleteFunc(slices.Clone(l.Accepted), func(v Violation) bool {
		lock, careful := strings.CutSuffix(v.Lock, " ("+history.Careful+")")
		return len(scenarios) > 0 && v.Scenario != "" && !slices.Contains(scenarios, v.Scenario) ||
			len(locks) > 0 && lock != "" && !slices.Contains(locks, lock) && !slices.Contains(locks, "all") ||
			careful && user == history.Careless || !careful && lock != "" && user == history.Careful
	})}
}

// Accepts reports whether the list accepts each unexpected verdict of a run.
func (l List) Accepts(r results.Run) bool {
	one := results.Results{Runs: []results.Run{r}}
	l.Apply(&one)
	return one.Runs[0].AsExpected
}

// Apply marks the violations of results that the list accepts, and names those of
// the list that no run shows and some run must. It changes res, and undoes what
// another list has marked.
func (l List) Apply(res *results.Results) {
	seen := make([]bool, len(l.Accepted))
	res.Gone = nil
	for i := range res.Runs {
		r := &res.Runs[i]
		marked := len(r.Accepted) > 0
		r.Accepted = nil
		for j, v := range l.Accepted {
			if !v.of(*r) {
				continue
			}
			for p, got := range r.Verdicts {
				if !v.accepts(p, got) {
					continue
				}
				seen[j] = true
				if r.Accepted == nil {
					r.Accepted = map[checker.Property]string{}
				}
				if r.Accepted[p] == "" || !v.everywhere() {
					r.Accepted[p] = v.Reason
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
	for j, v := range l.Accepted {
		if !seen[j] && !v.Sometimes && !v.Undecided {
			res.Gone = append(res.Gone, v.String())
		}
	}
	res.Summary = results.Summarize(res.Runs)
}
