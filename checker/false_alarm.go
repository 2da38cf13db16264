package checker

import (
	"maps"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/history"
)

// falseAlarm checks that nobody gets a notice of loss while the servers keep the
// hold. A holder may give up its hold early by a margin for drifting clocks, but
// not by a quarter of its lease. A fault since the acquire may have hidden the
// server's state from the client, or the client's requests from the server.
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

// wronglyLost checks that an owner has really lost its hold if its release reports
// a loss or no hold.
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

// mayAnswerElsewhere reports whether a server without the hold may have answered
// by a time.
func (t *trace) mayAnswerElsewhere(by int64) bool {
	return slices.ContainsFunc(t.faults, func(f faultSpan) bool { return f.from <= by && (f.Promotes || f.Forks) })
}

// kept checks that the servers did not keep a hold whose owner was notified of its
// loss.
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
	return byServers(violation(told, opIDs(o), "the lock notified %s of the loss of its hold at %s; the servers kept it until %s", c.Owner, at(told), at(owed)))
}

// margin is the time by which a holder may give up its hold early.
func (t *trace) margin(c *Claim) int64 { return max(t.claim.Margin, c.Lease/4) }

// knownLease is the end of a hold that its client must know: that of its latest
// grant or renewal which no fault can have hidden. If a fault may have delayed a
// granted request, its client counts the lease from its call. The lease of a nested
// hold that is longer counts only as long as that hold lasts.
func (t *trace) knownLease(c *Claim, by int64) int64 {
	ends := map[string]int64{} // group -> of the hold there, as the client must know
	for _, i := range t.since(t.op(c.AcquireOp).own, t.op(c.AcquireOp).inv) {
		s := &t.changes[i]
		if s.t >= by {
			break
		}
		if !s.command() || s.By != c.Client || s.holder != c.Owner {
			continue
		}
		if !t.disturbedAround(c.Client, s.t) {
			ends[s.group] = min(s.expires(), s.t+c.Lease)
		} else if o := t.grantOf(c.Owner, c.Lock, s.t); o != nil && o.kind == history.OK && o.inv <= s.t && s.t <= o.ret && o.ret <= by {
			ends[s.group] = max(ends[s.group], o.inv+min(o.args.Lease, c.Lease))
		}
	}
	times := slices.Sorted(maps.Values(ends))
	if len(times) < t.claim.Quorum {
		return 0
	}
	return times[len(times)-t.claim.Quorum] - t.allow.underway - t.allow.machine
}

// disturbedAround reports whether a fault may have touched a request that a server
// executed at a time, or its reply.
func (t *trace) disturbedAround(client string, when int64) bool {
	near := t.allow.underway + t.allow.machine
	return t.disturbance(max(0, when-near), when+near, func(f *faultSpan) bool { return f.touchesClient(client) && !f.sparesRenewals() }) > 0
}

// outlivedOuter reports whether a claim's owner was releasing a nested hold that
// alone kept the lock. With this release the lock is free, and the servers'
// remaining hold is no longer the owner's.
func (t *trace) outlivedOuter(c *Claim, told int64) bool {
	var ends []int64 // of the leases held, innermost last
	left := 0        // how many of them remain
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
			ends, left = append(ends[:left], end), left+1
		case s.o.f == history.Release && !s.ret && left > 0:
			if known := t.left(s.o); known > 0 { // it may repeat one without an answer
				left = min(known, len(ends))
			} else {
				left--
			}
			releasing = true
		}
	}
	for _, end := range ends[:left] {
		if end-c.Lease/4 > told {
			return false
		}
	}
	return releasing && left > 0
}

// sentBy is the start of the owner's lease: the send of the granted request, which
// a fault may have delayed.
func (t *trace) sentBy(acquire *op) int64 {
	if t.disturbance(acquire.inv, acquire.ret, func(f *faultSpan) bool { return f.touchesClient(acquire.client) && !f.sparesRenewals() }) > 0 {
		return acquire.inv
	}
	return acquire.ret
}
