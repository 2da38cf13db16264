package checker

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Renewal: A renewed hold is renewed in time while it lives, and never after.
const Renewal Property = "renewal"

var renewalProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Renewal, Promise: "A renewed hold is renewed in time while it lives, and never after.",
		Broken: "a hold is not renewed as it should be",
	},
	claimed: func(h *history.Header) bool { return h.Claims.Renewal && !h.Unwatched },
	judge:   byServerLog(judgeRenewal),
}

// pauseOfClient is the longest pause of a Redis client before it retries a request
// on a broken connection.
const pauseOfClient = 512 * millisecond

// pauseOfPool is its longest pause if several idle connections broke at once: it
// retries a request on one after the other, fails, and the lock asks again.
const pauseOfPool = 2 * pauseOfClient

// pauseOfDial is its longest pause after a server refused connections. go-redis then
// fails requests without a dial, and tries a dial once in a second.
const pauseOfDial = second + pauseOfClient

// renewalSlack is the allowed delay of a client's renewal beyond the promised
// interval. The client may notice a connection that a fault has broken only at the
// next renewal, long after.
func (t *trace) renewalSlack(client string, after int64) int64 {
	slack := t.allow.underway + t.allow.machine
	if t.struckBy(after, "breaks connections", client, func(f *faultSpan) bool { return f.touchesClient(client) && f.BreaksConnections }) {
		return slack + pauseOfClient
	}
	return slack
}

// brokeMeanwhile reports whether a fault broke connections of a client, and was over,
// before the renewal was due that follows the one at a time.
func (t *trace) brokeMeanwhile(client string, renewed int64) bool {
	due := renewed + t.claims.RenewEvery
	return slices.ContainsFunc(t.faults[:t.faultsBefore(due)], func(f *faultSpan) bool {
		return f.BreaksConnections && f.touchesClient(client) && f.from > renewed && f.to <= due
	})
}

// judgeRenewal checks in the server log that a lock renews live holds at the promised
// interval, and never a released one.
func judgeRenewal(t *trace) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for i := range t.beliefs {
		if c := &t.beliefs[i]; c.Renewed && t.claims.RenewEvery > 0 {
			v = earlier(v, t.renewedInTime(c))
			v = earlier(v, t.toldInTime(c))
		}
	}
	for _, k := range t.owners {
		v = earlier(v, t.silent(k))
		v = earlier(v, t.silentWhenClosed(k))
	}
	return v
}

// renewedInTime measures the gaps between refreshes of a belief on each group of
// servers. As many groups may fail as the lock can lose.
func (t *trace) renewedInTime(c *Belief) Verdict {
	acquire := t.op(c.AcquireOp)
	inv := acquire.inv
	end := min(c.To, t.closing.at(c.Client)) // a lock that was closed renews nothing
	var groups byGroup[renewals]
	bad := 0
	gap := func(group string, r *renewals, to int64) {
		from := plus(r.last, t.setBackSince(r.refresh, to))
		if r.bad.Outcome != "" {
			return
		}
		slack := t.renewalSlack(c.Client, from)
		if t.brokeMeanwhile(c.Client, from) {
			slack += pauseOfClient
		}
		if from >= to || to <= acquire.ret+slack { // a lock renews what it has heard of, and an earlier try's hold may end before
			return
		}
		if healed := t.lastHealed(c.Client, from, to); healed > from && to-healed > t.claims.RenewEvery+slack {
			bad++
			r.bad = violation(healed+t.claims.RenewEvery, opIDs(acquire, t.op(c.EndOp)),
				"the hold of %s was not renewed on %s for %s from %s on, although nothing was wrong any more after %s; it is to be renewed every %s",
				c.Owner, group, long(to-from), at(from), at(healed), long(t.claims.RenewEvery))
			return
		}
		excused := t.overlap(from, to, t.claims.RenewEvery, delays(c.Client))
		if late := to - from - excused; late > t.claims.RenewEvery+slack {
			bad++
			r.bad = violation(from+t.claims.RenewEvery, opIDs(acquire, t.op(c.EndOp)),
				"the hold of %s was not renewed on %s for %s from %s on; it is to be renewed every %s",
				c.Owner, group, long(to-from), at(from), long(t.claims.RenewEvery))
		}
	}
	for _, s := range acquire.own.changes.from(inv) {
		if s.Role != "primary" {
			continue
		}
		if s.t >= end {
			break
		}
		r := groups.find(s.group)
		held := r != nil && r.held
		switch {
		case s.holder == c.Owner && s.Cause == "command" && (s.grants() || s.raises() || s.Count != s.WasCount):
			r = groups.at(s.group)
			if held {
				gap(s.group, r, s.t)
			}
			r.held, r.last, r.refresh = true, max(s.t, s.due(c.Lease)), s
		case held && s.was == c.Owner && s.ends():
			gap(s.group, r, s.t)
			r.held = false
		}
	}
	v := Verdict{Outcome: OutcomeOK}
	for i := range groups {
		g := &groups[i]
		if g.is.held {
			gap(g.group, &g.is, end)
		}
		if g.is.bad.Outcome == Violated {
			v = earlier(v, g.is.bad)
		}
	}
	if bad <= t.claims.Nodes-t.claims.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	return v
}

// renewals are the renewals of a belief on one group of servers.
type renewals struct {
	held    bool
	last    int64   // when its lease was down to the full one, at the latest
	refresh *change // the last one
	bad     Verdict // of the first gap that was too long
}

// setBackSince is how far faults have set a server's clock back since a refresh, and
// so delayed the end of a lease; never if unknown. A renewal changes nothing if more
// than a lease remains.
func (t *trace) setBackSince(refresh *change, to int64) int64 {
	from, by := refresh.t-t.allow.underway-t.allow.machine, int64(0)
	for _, f := range t.faults[:t.faultsBefore(to)] {
		jumpedBefore := f.ClockJump != 0 && f.from < from
		if f.MovesClock && slices.Contains(f.nodes, refresh.Node) && f.to >= from && !jumpedBefore {
			by = plus(by, f.setsBack(from, to))
		}
	}
	return by
}

// toldInTime checks that the holder of a renewed hold gets a notice when the servers no
// longer have it. The notice is due at the next renewal after a loss, and by the client's
// clock at the end of the lease.
func (t *trace) toldInTime(c *Belief) Verdict {
	if !t.claims.LostSign || !t.careful() || t.crashed.at(c.Client) == c.To || t.closing.at(c.Client) <= c.To {
		return Verdict{Outcome: OutcomeOK}
	}
	if l := t.lossOf(c, c.To); l.lost() && t.toldTooLate(c, l, c.To) {
		return violation(l.at+t.claims.RenewEvery, opIDs(t.op(c.AcquireOp), t.op(c.EndOp)),
			"%s went on until %s without a notice of its loss: %s", c.Owner, at(c.To), l.how)
	}
	owed, known := t.owedByServers(c, c.To)
	if !known || owed >= c.To || t.clockMoved(c.To) || t.groupsHolding(c.Lock, c.Owner, c.To, c.To, onPrimary) >= t.claims.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	stopped := t.overlap(owed-min(owed, c.Lease), c.To, t.allow.healing, stops(c.Client))
	if c.To-owed-stopped <= t.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(owed, opIDs(t.op(c.AcquireOp), t.op(c.EndOp)), "%s went on until %s without a notice that its lease had ended at %s", c.Owner, at(c.To), at(owed))
}

// lastHealed is the end of the last fault that delayed a client between two times;
// the first of the two if there was none.
func (t *trace) lastHealed(client string, from, to int64) int64 {
	healed := from
	for i := t.healed.before(t.faultsBefore(to), from+1); i >= 0; i = t.healed.before(i, from+1) {
		if f := t.faults[i]; delays(client)(f) {
			healed = max(healed, min(f.to, to))
		}
	}
	return healed
}

// due is when a hold of a lease needs a renewal to end when it does. A nested hold
// with a longer lease delays renewals: they change nothing until a lease or less
// remains.
func (c *change) due(lease int64) int64 {
	if lease == 0 {
		return c.t
	}
	if end := c.expires(); end != never {
		return end - lease
	}
	return never
}

// silent checks that an owner's client renews nothing after the owner has released all
// its holds. After a notice of loss it has one interval.
func (t *trace) silent(k ownerLock) Verdict {
	steps := t.steps(k)
	var b bounds
	var from int64 = never // renewals from here on are wrong
	var last *op
	j := 0
	for _, c := range t.account(k).changes.all {
		for ; j < len(steps) && steps[j].t < c.t; j++ {
			s := steps[j]
			b = b.after(s)
			switch {
			case s.o == nil && s.lost:
				from = s.t + t.claims.RenewEvery
			case s.o == nil:
			case s.o.f == history.Acquire && !s.ret:
				from = never
			case s.o.f == history.Acquire && s.o.kind != history.OK && !s.o.unclear() && b.hi == 0 && last != nil:
				from = s.t
			case s.o.f == history.Release && s.o.kind == history.OK && s.ret && b.hi == 0:
				from, last = s.t, s.o
				if t.claims.Nodes > 1 {
					from += t.claims.RenewEvery // servers beyond the quorum may lag
				}
			}
		}
		if from == never || c.t <= from || !c.command() || c.By != t.client[k.owner] {
			continue
		}
		if t.heldUpSince(c.By, from, c.t) {
			continue // it was sent while there was something to renew
		}
		if c.holder == k.owner && (c.raises() || (c.grants() && t.claims.Nodes == 1 && t.openOp(c.By, c.lock, history.Acquire, c.t) == nil)) {
			return violation(c.t, opIDs(last), "%s renewed the hold of %s on %s at %s, after it had ended", c.By, k.owner, c.Node, at(c.t))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// heldUpSince reports whether faults delayed a client's requests for all of the
// time between two moments: a request that arrives then may be older.
func (t *trace) heldUpSince(client string, from, to int64) bool {
	return t.overlap(from, to, t.allow.healing, func(f *faultSpan) bool {
		return f.touchesClient(client) && (f.holdsMessages() || f.StopsProcess)
	}) == to-from
}

// silentWhenClosed checks that a client renews nothing after it closed its lock.
func (t *trace) silentWhenClosed(k ownerLock) Verdict {
	client := t.client[k.owner]
	closed := t.closed.at(client)
	if closed == never {
		return Verdict{Outcome: OutcomeOK}
	}
	for _, c := range t.account(k).changes.from(closed + closingSlack + t.allow.machine) {
		if c.command() && c.By == client && c.holder == k.owner && c.raises() {
			return violation(c.t, opIDs(t.grantOf(k.owner, k.lock, c.t)), "%s renewed the hold of %s on %s at %s, after it had closed its lock at %s",
				client, k.owner, c.Node, at(c.t), at(closed))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
