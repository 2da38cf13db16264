package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Expectation is the verdict that a scenario expects.
type Expectation struct {
	Outcome checker.Outcome
	Class   string // of an exclusion violation; empty for any
	Because string
	// OrBetter accepts ok as well. OrInherent accepts a violation that no lock
	// with the same claims could have avoided.
	OrBetter, OrInherent bool
	// Defect is true if the violation is the lock's own fault.
	Defect bool
	known  []locks.Known // those of a third-party lock
}

func propertyNames() []string {
	return english.Words(checker.Properties(), func(p checker.PropertyInfo) string { return string(p.Name) })
}

// verdictsOf are the words a scenario may expect for a property.
func verdictsOf(p checker.Property) []string {
	words := []string{string(checker.OutcomeOK), string(checker.Violated), string(checker.Unknown)}
	for _, info := range checker.Properties() {
		if info.Name == p {
			words = append(words, info.Classes...)
		}
	}
	for _, w := range words[1:] {
		words = append(words, w+orOK)
	}
	return words
}

// orOK ends a verdict that a run need not show, because chance decides: who of several
// owners comes first, or who reads and who writes.
const orOK = " or ok"

// Expected returns the expected verdict of a lock for each property, whether the
// lock claims it or not. For a mutant it is that of the original. For a
// third-party lock it follows from the claims, see [locks.NewThirdParty].
func (s *Scenario) Expected(l *locks.Lock) map[checker.Property]Expectation {
	if l.ThirdParty != nil {
		return s.expectedOfThirdParty(l.ThirdParty)
	}
	return s.expectedOf(standIn(l), l.Name())
}

// expectedOf returns the expected verdicts of a built-in lock, and of one that takes over
// those of another.
func (s *Scenario) expectedOf(lock, name string) map[checker.Property]Expectation {
	all := make(map[checker.Property]Expectation)
	for _, p := range propertyNames() {
		all[checker.Property(p)] = Expectation{Outcome: checker.OutcomeOK, Because: s.Otherwise}
	}
	for _, e := range s.Expect {
		if !slices.Contains(e.Locks, lock) && !slices.Contains(e.Locks, name) {
			continue
		}
		for property, verdict := range e.Verdicts {
			verdict, either := strings.CutSuffix(verdict, orOK)
			x := Expectation{Outcome: checker.Outcome(verdict), Because: e.Because, Defect: e.Defect, OrBetter: either}
			if verdict == checker.ContractBroken || verdict == checker.LeaseOutlived {
				x.Outcome, x.Class = checker.Violated, verdict
			}
			all[checker.Property(property)] = x
		}
	}
	return all
}

// Met reports whether a verdict on a property is the expected one.
func (e Expectation) Met(p checker.Property, v checker.Verdict) bool {
	if e.OrBetter && v.Outcome == checker.OutcomeOK || e.OrInherent && v.Inherent != "" {
		return true
	}
	if len(e.known) > 0 {
		return slices.ContainsFunc(e.known, func(k locks.Known) bool { return k.Matches(p, v) })
	}
	return v.Outcome == e.Outcome && (e.Class == "" || v.Class == e.Class)
}

// Applies reports whether the scenario can be played with a lock, and if not, why.
// There are three reasons: the scenario excludes the lock, the lock cannot do the
// workload, or a fault has no target in its world.
func (s *Scenario) Applies(l *locks.Lock) (ok bool, reason string) {
	if ok, reason := s.suits(l); !ok {
		return false, reason
	}
	if _, err := faults.NewSchedule(s.Faults, s.World(l), 0); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// Check is Applies as an error.
func (s *Scenario) Check(l *locks.Lock) error {
	if ok, reason := s.Applies(l); !ok {
		return fmt.Errorf("scenario %s does not apply to %s: %s", s.Name, l.Name(), reason)
	}
	return nil
}

// standIn is the built-in lock that Only, Except and Expect use for a lock: the
// lock itself, its original, or one of its kind.
func standIn(l *locks.Lock) string {
	if l.ThirdParty != nil {
		return kin(l.ThirdParty)
	}
	return cmp.Or(l.Like, l.Name())
}

// suits is Applies without the faults.
func (s *Scenario) suits(l *locks.Lock) (ok bool, reason string) {
	if ok, reason := s.meets(l); !ok {
		return false, reason
	}
	if ok, reason := s.selects(standIn(l)); !ok {
		return false, reason
	}
	return s.canDo(l)
}

// selects reports whether Only and Except select a built-in lock.
func (s *Scenario) selects(lock string) (ok bool, reason string) {
	if len(s.Only) > 0 && !slices.Contains(s.Only, lock) {
		return false, "the scenario is played with " + english.And(s.Only) + " only"
	}
	if reason, out := s.Except[lock]; out {
		return false, reason
	}
	return true, ""
}
