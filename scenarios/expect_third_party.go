package scenarios

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// CheckKnown returns an error if a third-party lock declares a known violation of
// an unknown scenario or property.
func CheckKnown(d locks.Description) error {
	for _, k := range d.Known {
		if !slices.Contains(Names(), k.Scenario) {
			return fmt.Errorf("%s is known for something in an unknown scenario, %q: %s", d.Name, k.Scenario, didYouMean(k.Scenario, Names()))
		}
		if !slices.Contains(propertyNames(), string(k.Property)) {
			return fmt.Errorf("%s is known for an unknown property, %q: %s", d.Name, k.Property, didYouMean(string(k.Property), propertyNames()))
		}
	}
	return nil
}

// kin is the built-in lock that Only and Except use for a third-party lock.
func kin(d *locks.Description) string {
	switch c := d.Claims; {
	case d.Groups() > 1 && d.Needs() == d.Groups():
		return "multi"
	case d.Groups() > 1:
		return "redlock"
	case !c.Lease:
		return "setnx"
	case c.Fencing:
		return "fenced"
	case c.Renewal:
		return "reentrant"
	}
	return "set-px-lua"
}

// expectedOfThirdParty returns the expected verdicts of a third-party lock. The
// lock keeps its claims, except for its known violations and for inherent ones,
// which the judges recognize.
func (s *Scenario) expectedOfThirdParty(d *locks.Description) map[checker.Property]Expectation {
	all := make(map[checker.Property]Expectation)
	for _, p := range propertyNames() {
		all[checker.Property(p)] = Expectation{Outcome: checker.OutcomeOK, OrInherent: true,
			Because: "A lock can keep what this one claims under these faults."}
	}
	for _, k := range d.Known {
		if k.Scenario == s.Name {
			e := all[k.Property]
			all[k.Property] = Expectation{Outcome: checker.Violated, OrBetter: true, Because: "Known: " + k.Because, known: append(e.known, k)}
		}
	}
	return all
}
