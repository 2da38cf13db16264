package locks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
)

// Known is a known violation: one that the author of a lock, or of a list for
// holdfast run --accept, names with its reason. A run that shows it is as expected.
type Known struct {
	Scenario string `json:"scenario" yaml:"scenario"` // its name, "lost-acquire-reply"
	// Lock is the lock, as reports name it; only for lists.
	Lock     string           `json:"lock,omitempty" yaml:"lock"`
	Property checker.Property `json:"property" yaml:"property"`     // holdfast list properties shows them
	Class    string           `json:"class,omitempty" yaml:"class"` // of an exclusion violation; empty for any
	// Faults are the kinds of fault after which a crossed workload shows the violation.
	Faults  []string `json:"-" yaml:"-"`
	Because string   `json:"because" yaml:"reason"` // with the tracker's number, if there is one
	// Says is a part of what the verdict says; empty for any verdict. In a list, an entry
	// with it needs no scenario and no lock. It then stands for one cause in all of them,
	// which depends on timing, so that no list can name its cells.
	Says string `json:"says,omitempty" yaml:"says"`
	// Sometimes says that no run need show the violation, because it depends on timing,
	// or only real servers show it.
	Sometimes bool `json:"sometimes,omitempty" yaml:"sometimes"`
	// Undecided says that a run of the cell may decide nothing, because the lock
	// ends it before the fault. It accepts each unknown verdict, and no violation.
	// It has no property, and no run need show it.
	Undecided bool `json:"undecided,omitempty" yaml:"undecided"`
}

// Matches reports whether the entry stands for a verdict of its cell.
func (k Known) Matches(p checker.Property, v checker.Verdict) bool {
	if !strings.Contains(v.Reason, k.Says) {
		return false
	}
	if k.Undecided {
		return v.Outcome == checker.Unknown
	}
	return p == k.Property && v.Outcome == checker.Violated && (k.Class == "" || k.Class == v.Class)
}

// Of reports whether the entry is about a scenario and a lock.
func (k Known) Of(scenario, lock string) bool {
	return (k.Scenario == "" || k.Scenario == scenario) && (k.Lock == "" || k.Lock == lock)
}

// Everywhere reports whether an entry of a list stands for cells that it does not name.
func (k Known) Everywhere() bool { return k.Scenario == "" || k.Lock == "" }

// Required reports whether some run must show the violation.
func (k Known) Required() bool { return !k.Sometimes && !k.Undecided }

// String names the entry in an error of a list.
func (k Known) String() string {
	what, where := cmp.Or(k.Lock, "every lock"), cmp.Or(k.Scenario, "every scenario")
	words := fmt.Sprintf("%s of %s in %s", k.Property, what, where)
	if k.Undecided {
		words = fmt.Sprintf("undecided runs of %s in %s", what, where)
	}
	if k.Class != "" {
		words += " (" + k.Class + ")"
	}
	if k.Says != "" {
		words += fmt.Sprintf(", saying %q", k.Says)
	}
	return words
}
