package checker

import (
	"maps"
	"slices"
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

// wronglyLost checks that an owner whose release says that the hold is lost, or that
// there is none, has lost it.
func (t *trace) wronglyLost(c *Claim) Verdict {
	if c.EndOp == 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	o := t.op(c.EndOp)
	if o.f != history.Release || o.kind != history.Fail || t.refusedAsClosed(o) || t.mayAnswerElsewhere(o.ret) {
		return Verdict{Outcome: OutcomeOK}
	}
	v := t.kept(c, o.ret)
	if v.Outcome == Violated {
		v.Ops = append(v.Ops, o.id)
	}
	return v
}

// mayAnswerElsewhere reports whether by a time a server may have answered that
// never had the hold.
func (t *trace) mayAnswerElsewhere(by int64) bool {
	return slices.ContainsFunc(t.faults, func(f faultSpan) bool { return f.from <= by && (f.Promotes || f.Forks) })
}

// kept checks that the servers did not keep a hold whose owner was told that
// it is lost.
func (t *trace) kept(c *Claim, told int64) Verdict {
	o := t.op(c.AcquireOp)
	if c.Lease == 0 || t.closedAt(c.Client) <= told || t.outlivedOuter(c, told) || t.groupsHolding(c.Lock, c.Owner, told, told, false) < t.claim.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	owed, ok := t.owedByServers(c, told)
	if !ok || owed == never || owed-told <= t.margin(c)+t.allow.rounding {
		return Verdict{Outcome: OutcomeOK}
	}
	if t.overlap(o.inv, told, t.allow.settling, func(f *faultSpan) bool { return f.lasted || f.from >= o.inv }) > 0 {
		if known := t.knownLease(c, told); told >= known-t.margin(c) {
			return Verdict{Outcome: OutcomeOK}
		}
	}
	return byServers(violation(told, opIDs(o), "%s was told at %s that its hold is lost; the servers kept it until %s", c.Owner, at(told), at(owed)))
}

// margin is how early a holder may give up its hold.
func (t *trace) margin(c *Claim) int64 { return max(t.claim.Margin, c.Lease/4) }

// knownLease is until when a client must know that its hold lasts: by its latest
// grant or renewal that no fault can have kept from it.
func (t *trace) knownLease(c *Claim, by int64) int64 {
	heard := map[string]int64{} // group -> when
	for _, i := range t.since(t.op(c.AcquireOp).own, t.op(c.AcquireOp).inv) {
		s := &t.changes[i]
		if s.t >= by {
			break
		}
		if s.command() && s.By == c.Client && s.holder == c.Owner && !t.disturbedAround(c.Client, s.t) {
			heard[s.group] = s.t
		}
	}
	times := slices.Sorted(maps.Values(heard))
	if len(times) < t.claim.Quorum {
		return 0
	}
	return times[len(times)-t.claim.Quorum] + c.Lease - t.allow.underway - t.allow.machine
}

// disturbedAround reports whether a fault may have touched a request that a server
// executed at a time, or its reply.
func (t *trace) disturbedAround(client string, when int64) bool {
	near := t.allow.underway + t.allow.machine
	return t.overlap(max(0, when-near), when+near, pauseOfClient, func(f *faultSpan) bool { return f.touchesClient(client) && !f.sparesRenewals() }) > 0
}

// outlivedOuter reports whether a claim's owner had begun to give back a nested
// hold that alone has kept the lock: with its release the lock is free, and what
// the servers still keep until that arrives is no hold of the owner's.
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
			end := plus(t.sentBy(s.o), t.leaseOf(s.o))
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

// sentBy is from when on the owner of a hold may count its lease: from the send of
// the request that was granted, which a fault may have kept from the server.
func (t *trace) sentBy(acquire *op) int64 {
	if t.overlap(acquire.inv, acquire.ret, pauseOfClient, func(f *faultSpan) bool { return f.touchesClient(acquire.client) && !f.sparesRenewals() }) > 0 {
		return acquire.inv
	}
	return acquire.ret
}
