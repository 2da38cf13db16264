package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/live/worker"
)

// NewGuest makes a lock that is not built in one that can be played: what it
// says of itself is what it is judged by. open opens it in this process, for
// the simulated world; it is nil for a lock that lives in processes of its own.
//
// Of a guest a scenario expects what it expects of the built-in locks of its
// kind, or better: on as many servers, with the same promises. What a lock of
// that kind cannot avoid is not held against it, and neither is what it is
// known for; everything else is.
func NewGuest(d worker.Description, open func(Environment) (Session, error)) (*Subject, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	if _, err := FindSubject(d.Name); err == nil {
		return nil, fmt.Errorf("the name %q is that of a built-in lock", d.Name)
	}
	for _, k := range d.Known {
		if !slices.Contains(Names(), k.Scenario) {
			return nil, fmt.Errorf("%s is known for something in an unknown scenario, %q: %s", d.Name, k.Scenario, didYouMean(k.Scenario, Names()))
		}
		if !slices.Contains(propertyNames(), k.Property) {
			return nil, fmt.Errorf("%s is known for an unknown property, %q: %s", d.Name, k.Property, didYouMean(k.Property, propertyNames()))
		}
	}
	return &Subject{
		name: d.Name, summary: d.Summary, groups: d.Groups(), fenced: d.Claims.Fencing,
		claims: func(s *Scenario) history.Claims { return claimsOfGuest(&d, s) }, open: open,
		keeps: d.MayStay, like: kin(&d)[0].lock, guest: &d,
	}, nil
}

// Description is what a guest says of itself; false for a built-in lock.
func (s *Subject) Description() (worker.Description, bool) {
	if s.guest == nil {
		return worker.Description{}, false
	}
	return *s.guest, true
}

// waits says whether an acquire of the lock waits.
func (s *Subject) waits() bool { return s.guest == nil || s.guest.Claims.Waits }

// key is the key of a lock with a name.
func (s *Subject) key(name string) string {
	if s.guest == nil {
		return name
	}
	return s.guest.KeyOf(name)
}

func claimsOfGuest(d *worker.Description, s *Scenario) history.Claims {
	c := history.Claims{
		Reentrant: d.Claims.Reentrant, Lease: d.Claims.Lease, Renewal: d.Claims.Renewal, Fencing: d.Claims.Fencing,
		Fairness: d.Claims.Fairness, LostSign: d.Claims.LostSign, TakesBack: d.Claims.TakesBack,
		RenewEvery: int64(d.RenewEvery * float64(s.Workload.Lease)), Quorum: d.Needs(), Nodes: d.Groups(),
	}
	if d.Claims.Waits && d.HandoffNS > 0 {
		c.Handoff = int64(s.pace(time.Duration(d.HandoffNS)) + max(s.pace(handoffMargin), 2*longestOperation))
	}
	return c
}

// suitsGuest says whether a guest can do what a scenario is made of.
func suitsGuest(d *worker.Description, s *Scenario) (ok bool, reason string) {
	switch {
	case s.Topology.Cluster && !d.CanReach(worker.ThroughCluster):
		return false, "its client is not one for a cluster"
	case s.has("cancel") && !d.Claims.Cancels:
		return false, "it does not claim that an operation can be cancelled"
	case s.has("drop-message", "slow-subscribe") && !d.Claims.Messages:
		return false, "its waiters are not woken by messages"
	case s.closes() && !d.Claims.Closes:
		return false, "it does not claim that it can be closed while it is in use"
	case s.explicit() && d.Claims.Lease && !d.Claims.Explicit:
		return false, "it does not claim that an acquire can have a lease of its own"
	}
	return true, ""
}

// has says whether there is a fault of one of the kinds.
func (s *Scenario) has(kinds ...string) bool {
	return slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return slices.Contains(kinds, f.Fault) })
}

// aboutCommands says that a fault of the scenario waits for a command of Redis,
// which only some locks send. Whether a guest does shows when it is played.
func (s *Scenario) aboutCommands() bool {
	return slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return f.On != nil && f.On.Command != "" })
}

// closes says whether a client closes its lock handle in the middle of work.
func (s *Scenario) closes() bool {
	for _, o := range s.Override {
		if o.Close != nil && *o.Close > 0 {
			return true
		}
	}
	return s.Workload.Close > 0
}

// explicit says whether any acquire asks for a lease of its own.
func (s *Scenario) explicit() bool {
	for _, o := range s.Override {
		if o.Explicit != nil && *o.Explicit {
			return true
		}
	}
	return s.Workload.Explicit || slices.ContainsFunc(s.Workload.Nested, func(d faults.Duration) bool { return d > 0 })
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
func kin(d *worker.Description) []relative {
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

// expectedOfGuest is what the scenario expects of a guest, or better.
func (s *Scenario) expectedOfGuest(d *worker.Description) map[checker.Property]Expectation {
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
