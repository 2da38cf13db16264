package checker

import (
	"sort"

	"github.com/holdfast-go/holdfast/history"
)

// falseAlarm checks that nobody is told that its hold is lost while the
// servers keep it: a holder may give its hold up early by a margin, for
// clocks that do not run at the same pace, but not by a quarter of its lease.
// A fault since the hold was asked for may have kept from the client what the
// servers know, or from the servers what it had sent.
func (t *trace) falseAlarm(n *history.Event) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if n.F != history.Lost {
		return v
	}
	for _, lock := range t.locks {
		list := t.ended[lock]
		// A claim may have ended by the release that follows at the same instant.
		for i := sort.Search(len(list), func(i int) bool { return t.claims[list[i]].To >= n.Time }); i < len(list); i++ {
			c := &t.claims[list[i]]
			if c.To > n.Time {
				break
			}
			if c.Client == n.Client && (n.Owner == "" || c.Owner == n.Owner) && (n.Lock == "" || c.Lock == n.Lock) {
				v = earlier(v, t.kept(c, n.Time))
			}
		}
	}
	return v
}

// kept checks that the servers did not keep a hold whose owner was told that
// it is lost.
func (t *trace) kept(c *Claim, told int64) Verdict {
	o := t.op(c.AcquireOp)
	if c.Lease == 0 || t.overlap(o.inv, told, t.allow.settling, func(f *faultSpan) bool { return f.lasted || f.from >= o.inv }) > 0 || t.outlivedOuter(c, told) {
		return Verdict{Outcome: OutcomeOK}
	}
	owed, ok := t.owedByServers(c, told)
	if !ok || owed == never || owed-told <= c.Lease/4+t.allow.rounding || t.groupsHolding(c.Lock, c.Owner, told, told, false) < t.claim.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	return byServers(violation(told, opIDs(o), "%s was told at %s that its hold is lost; the servers kept it until %s", c.Owner, at(told), at(owed)))
}

// outlivedOuter says whether a claim's owner had begun to give back a nested
// hold that alone has kept the lock: with its release the lock is free, and
// what the servers still keep until that arrives is no hold of the owner's.
func (t *trace) outlivedOuter(c *Claim, told int64) bool {
	var ends []int64 // of the leases held, innermost last
	releasing := false
	inv := t.op(c.AcquireOp).inv
	steps := t.steps(ownerLock{c.Owner, c.Lock})
	for _, s := range steps[sort.Search(len(steps), func(i int) bool { return steps[i].t >= inv }):] {
		if s.t > told {
			break
		}
		switch {
		case s.o == nil || s.o.inv < inv:
		case s.o.f == history.Acquire && s.ret && s.o.kind == history.OK:
			end := plus(s.o.ret, t.leaseOf(s.o))
			if s.o.args.Renewed {
				end = never
			}
			ends = append(ends, end)
		case s.o.f == history.Release && !s.ret && len(ends) > 0:
			ends, releasing = ends[:len(ends)-1], true
		}
	}
	for _, end := range ends {
		if end-c.Lease/4 > told {
			return false
		}
	}
	return releasing && len(ends) > 0
}
