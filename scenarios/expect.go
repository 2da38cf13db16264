package scenarios

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
)

// Expectation is the verdict that a scenario argues for.
type Expectation struct {
	Outcome checker.Outcome
	Class   string // of an exclusion violation; empty when any will do
	Because string
}

func propertyNames() []string {
	var names []string
	for _, p := range checker.Properties() {
		names = append(names, string(p.Name))
	}
	return names
}

// verdictsOf are the words a scenario may expect for a property.
func verdictsOf(p checker.Property) []string {
	words := []string{string(checker.Good), string(checker.Violated), string(checker.Unknown)}
	if p == checker.Exclusion {
		words = append(words, checker.ContractBroken, checker.LeaseOutlived)
	}
	return words
}

// Expected returns what the scenario expects of a lock, for all properties.
// Whether the lock claims them is not asked here. Of a mutant it expects what
// it does of the lock that the mutant is a variant of.
func (s *Scenario) Expected(lock string) map[checker.Property]Expectation {
	lock = builtIn(lock)
	all := make(map[checker.Property]Expectation)
	for _, p := range propertyNames() {
		all[checker.Property(p)] = Expectation{Outcome: checker.Good, Because: s.Otherwise}
	}
	for _, e := range s.Expect {
		if !slices.Contains(e.Locks, lock) {
			continue
		}
		for property, verdict := range e.Verdicts {
			x := Expectation{Outcome: checker.Outcome(verdict), Because: e.Because}
			if verdict == checker.ContractBroken || verdict == checker.LeaseOutlived {
				x.Outcome, x.Class = checker.Violated, verdict
			}
			all[checker.Property(property)] = x
		}
	}
	return all
}

// Applies says whether the scenario is played with a lock, and if not, why: it
// is not about that lock, the lock cannot do what the workload asks, or a fault
// finds nothing to strike in the lock's world.
func (s *Scenario) Applies(lock string) (ok bool, reason string) {
	if ok, reason := s.suits(lock); !ok {
		return false, reason
	}
	sub, err := subjectOf(lock)
	if err != nil {
		return false, err.Error()
	}
	if _, err := faults.NewTimeline(s.Faults, s.topologyFor(sub), 0); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// subject is a lock that the scenario is played with, by its name.
func (s *Scenario) subject(lock string) (subject, error) {
	sub, err := subjectOf(lock)
	if err != nil {
		return subject{}, err
	}
	if ok, reason := s.Applies(lock); !ok {
		return subject{}, fmt.Errorf("scenario %s does not apply to %s: %s", s.Name, lock, reason)
	}
	return sub, nil
}

// suits is Applies before the faults are looked at.
func (s *Scenario) suits(lock string) (ok bool, reason string) {
	if ok, reason := s.selects(lock); !ok {
		return false, reason
	}
	sub, err := subjectOf(lock)
	if err != nil {
		return false, err.Error()
	}
	return sub.suits(s)
}

// selects is what Only and Except say about a lock.
func (s *Scenario) selects(lock string) (ok bool, reason string) {
	lock = builtIn(lock)
	if len(s.Only) > 0 && !slices.Contains(s.Only, lock) {
		return false, "the scenario is played with " + andList(s.Only) + " only"
	}
	if reason, out := s.Except[lock]; out {
		return false, reason
	}
	return true, ""
}
