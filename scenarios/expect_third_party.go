package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/subject"
)

// CheckKnown says what is wrong with the violations that a third-party lock is
// known for: an unknown scenario or an unknown property.
func CheckKnown(d subject.Description) error {
	for _, k := range d.Known {
		if !slices.Contains(Names(), k.Scenario) {
			return fmt.Errorf("%s is known for something in an unknown scenario, %q: %s", d.Name, k.Scenario, didYouMean(k.Scenario, Names()))
		}
		if !slices.Contains(propertyNames(), k.Property) {
			return fmt.Errorf("%s is known for an unknown property, %q: %s", d.Name, k.Property, didYouMean(k.Property, propertyNames()))
		}
	}
	return nil
}

// relative is a built-in lock of the same kind as a guest.
type relative struct {
	lock string
	// overlaps limits what it stands for to scenarios in which it is argued to
	// have two holders: what else it does wrong can be avoided.
	overlaps bool
	why      string
}

// kin are the built-in locks whose violations are held to be those of a kind,
// the one that is most like the guest first.
func kin(d *subject.Description) []relative {
	var all []relative
	switch c := d.Claims; {
	case d.Groups() > 1 && d.Needs() == d.Groups():
		all = append(all, relative{lock: "multi"})
	case d.Groups() > 1:
		all = append(all, relative{lock: "redlock"})
	case !c.Lease:
		return []relative{{lock: "setnx", why: "it does not claim that a hold ends by itself"}, {lock: "reentrant"}}
	case c.Fencing:
		all = append(all, relative{lock: "fenced"})
	default:
		all = append(all, relative{lock: "reentrant"})
	}
	if d.Claims.Renewal || d.Groups() > 1 {
		return all
	}
	all = append(all, relative{"set-px-lua", true, "it does not claim that a hold is renewed"})
	if !d.Claims.Fencing {
		slices.Reverse(all)
	}
	return all
}

// expectedOfThirdParty is what the scenario expects of a third-party lock: what it
// expects of the built-in locks of its kind, or better. The scenario excuses what
// a lock of that kind cannot avoid, and what the lock is known for.
func (s *Scenario) expectedOfThirdParty(d *subject.Description) map[checker.Property]Expectation {
	all := make(map[checker.Property]Expectation)
	for _, p := range propertyNames() {
		all[checker.Property(p)] = Expectation{Outcome: checker.OutcomeOK, OrBetter: true,
			Because: "What the lock promises can be kept under these faults: the reference lock keeps it."}
	}
	for _, r := range kin(d) {
		of := s.expectedOf(r.lock)
		if r.overlaps && of[checker.Exclusion].Outcome != checker.Violated {
			continue
		}
		for p, e := range of {
			if e.Outcome != checker.OutcomeOK && !(r.overlaps && p == checker.ResourceSafe && d.Claims.Fencing) {
				e.Because = fmt.Sprintf("As %s, on which the scenario says: %s", cmp.Or(r.why, "a lock of its kind, such as "+r.lock), e.Because)
				all[p] = worse(all[p], e)
			}
		}
	}
	if d.Claims.Lease && !(d.Claims.Renewal && d.Claims.LostSign) {
		const why = "A holder that nobody tells works on when its lease has ended. The lock does not claim to renew the lease and to tell of its loss."
		all[checker.Exclusion] = worse(all[checker.Exclusion], Expectation{Outcome: checker.Violated, Class: checker.LeaseOutlived, Because: why})
	}
	if e := all[checker.Exclusion]; e.Outcome == checker.Violated && !d.Claims.Fencing {
		all[checker.ResourceSafe] = worse(all[checker.ResourceSafe], Expectation{Outcome: checker.Violated, Because: e.Because})
	}
	if e := all[checker.Exclusion]; d.Servers != nil {
		e.unwatched = true
		all[checker.Exclusion] = e
	}
	for _, k := range d.Known {
		if k.Scenario == s.Name {
			all[checker.Property(k.Property)] = Expectation{Outcome: checker.Violated, OrBetter: true, Because: "Known: " + k.Because}
		}
	}
	return all
}

// worse is the worse of two expectations, of which the verdict may be better.
func worse(a, b Expectation) Expectation {
	b.OrBetter = true
	switch {
	case a.Outcome == checker.OutcomeOK:
		return b
	case a.Class == checker.LeaseOutlived && b.Class != checker.LeaseOutlived:
		return b
	}
	return a
}
