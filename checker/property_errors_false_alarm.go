package checker

import (
	"maps"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// judgeNotice checks that no client gets a notice of loss while the servers keep the
// hold. A holder may give up its hold early by a margin for drifting clocks, but
// not by a quarter of its lease. A fault since the acquire may have hidden the
// server's state from the client, or the client's requests from the server.
func (j errorsJudge) judgeNotice(n *history.Event) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if n.F != history.Lost {
		return v
	}
	for _, lock := range j.locks {
		list := j.ended[lock]
		// A belief may have ended by the release that follows at the same instant.
		for i := sort.Search(len(list), func(i int) bool { return j.beliefs[list[i]].To >= n.Time }); i < len(list); i++ {
			c := &j.beliefs[list[i]]
			if c.To > n.Time {
				break
			}
			if c.Client == n.Client && (n.Owner == "" || c.Owner == n.Owner) && (n.Lock == "" || c.Lock == n.Lock) {
				v = earlier(v, j.judgeKeptHold(c, n.Time, "the lock notified "+c.Owner+" of the loss of its hold"))
			}
		}
	}
	return v
}

// judgeLostGrant checks that an owner has really lost its hold if its release reports
// a loss or no hold. The release may repeat others without an answer.
func (j errorsJudge) judgeLostGrant(c *Belief) Verdict {
	o := j.op(c.EndOp)
	for o != nil && o.f == history.Release && o.kind == history.Info {
		o = o.next()
	}
	if o == nil || o.f != history.Release || o.kind != history.Fail || j.refusedAsClosed(o) {
		return Verdict{Outcome: OutcomeOK}
	}
	said := "that its owner held nothing"
	if o.res.Error == history.ErrLost {
		said = "a loss"
	}
	v := j.judgeKeptHold(c, o.ret, "the release of "+c.Owner+" reported "+said)
	if v.Outcome == Violated {
		v.Ops = append(v.Ops, o.id)
	}
	return v
}

// judgeKeptHold checks that the servers did not keep a hold whose owner was notified of its
// loss; how says in which way. A fault may have hidden their state from its client. And a
// release may leave outer holds whose leases are over: with it the lock is free. A server
// that took the place of another may have handed the lock to the same owner once more.
func (j errorsJudge) judgeKeptHold(c *Belief, told int64, how string) Verdict {
	o := j.op(c.AcquireOp)
	answers := func(s *span) bool { return !s.replica && s.led <= told && j.stillAnswers(s.group, s.led, told) }
	if c.Lease == 0 || j.mayBeClosing(c.Client, told) || j.groupsHolding(c.Lock, c.Owner, told, told, answers) < j.claims.Quorum || j.leftBehind(c, told).groups > 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	owed, ok := j.owedByServers(c, told)
	if !ok || owed == never || owed-told <= j.marginOf(c)+j.allow.rounding {
		return Verdict{Outcome: OutcomeOK}
	}
	held, releasing := j.heldBy(c, told)
	hidden := j.overlap(o.inv, told, j.allow.settling, func(f *faultSpan) bool {
		return f.lasted || f.from >= o.inv || f.BreaksConnections // which is found when the connection is next used
	}) > 0
	outer := releasing && len(held) > 0
	if len(held) == 0 { // it was releasing the last one
		held = []*op{o}
	}
	if hidden || outer {
		known := int64(0)
		for _, a := range held {
			known = max(known, j.knownEnd(a, told))
		}
		if told >= known-j.marginOf(c)-j.allow.underway-j.allow.machine {
			return Verdict{Outcome: OutcomeOK}
		}
	}
	return byServers(violation(told, opIDs(o), "%s at %s; the servers kept it until %s", how, at(told), at(owed)))
}

// marginOf is the time by which a holder may give up its hold early.
func (j errorsJudge) marginOf(c *Belief) int64 { return max(j.claims.Margin, c.Lease/4) }

// heldBy lists the acquires whose holds the owner of a belief has at a time, outermost
// first. It leaves out those that the owner is releasing or has released.
func (j errorsJudge) heldBy(c *Belief, when int64) (held []*op, releasing bool) {
	inv := j.op(c.AcquireOp).inv
	steps := j.steps(ownerLock{c.Owner, c.Lock})
	left := 0
	for _, s := range steps[sort.Search(len(steps), func(i int) bool { return steps[i].t >= inv }):] {
		if s.t > when {
			break
		}
		switch {
		case s.o == nil || s.o.inv < inv:
		case s.ret && s.o.granted():
			held, left = append(held[:left], s.o), left+1
		case s.o.f == history.Release && !s.ret && left > 0:
			if known := j.holdsLeft(s.o); known > 0 { // it may repeat one without an answer
				left = min(known, len(held))
			} else {
				left--
			}
			releasing = true
		}
	}
	return held[:left], releasing
}

// knownEnd is the end of an acquire's hold that its client must expect. If a fault may
// have delayed the granted request, the client counts the lease from its call. A hold
// that another owner handed on lasts as long as the waiter's place. A renewed hold
// lasts from the latest renewal which no fault can have hidden.
func (j errorsJudge) knownEnd(o *op, by int64) int64 {
	first := plus(j.sentBy(o), j.leaseOf(o))
	for _, s := range o.own.changes.between(o.inv, o.ret) {
		if s.holder == o.owner && j.handedOn(ownerLock{o.owner, o.lock}, s) == o {
			first = min(first, plus(o.inv, min(j.leaseOf(o), s.TTL))) // it may have learned of no later end
		}
	}
	if !o.args.Renewed {
		return first
	}
	ends := map[string]int64{} // group -> of the hold there
	for _, s := range o.own.changes.between(o.inv, by-1) {
		switch {
		case s.takesBack(o):
			delete(ends, s.group)
		case s.command() && s.By == o.client && s.holder == o.owner && !j.disturbedAround(o.client, s.t):
			ends[s.group] = s.t + o.args.Lease
		}
	}
	if len(ends) < j.claims.Quorum {
		return first
	}
	times := slices.Sorted(maps.Values(ends))
	return max(first, times[len(times)-j.claims.Quorum])
}

// disturbedAround reports whether a fault may have touched a request that a server
// executed at a time, or its reply.
func (t *trace) disturbedAround(client string, when int64) bool {
	near := t.allow.underway + t.allow.machine
	return t.disturbance(max(0, when-near), when+near, delays(client)) > 0
}

// sentBy is the start of the owner's lease: the send of the granted request, which
// a fault may have delayed. On several servers it is that of the first one that
// granted the hold, as the others may have been busy for long.
func (j errorsJudge) sentBy(acquire *op) int64 {
	if j.disturbance(acquire.inv, acquire.ret, delays(acquire.client)) > 0 {
		return acquire.inv
	}
	if j.claims.Nodes > 1 {
		granted := map[string]int64{} // group -> when
		for c := range j.commandsOf(acquire) {
			if c.takes() && c.holder == acquire.owner {
				granted[c.group] = c.t
			}
		}
		if len(granted) > 0 {
			return slices.Min(slices.Collect(maps.Values(granted))) - j.allow.underway
		}
	}
	return acquire.ret
}
