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
	harm:    always(wrongAnswer),
	claimed: func(h *history.Header) bool { return h.Claims.Renewal && !h.Unwatched },
	judge:   byServerLog(func(t *trace) Verdict { return renewalJudge{t}.judge() }),
}

// pauseOfClient is the longest pause of a Redis client before it retries a request
// on a broken connection.
const pauseOfClient = 512 * millisecond

// pauseOfPool is its longest pause if several idle connections broke at once. The client
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
func (j renewalJudge) brokeMeanwhile(client string, renewed int64) bool {
	due := renewed + j.claims.RenewEvery
	return slices.ContainsFunc(j.faults[:j.faultsBefore(due)], func(f *faultSpan) bool {
		return f.BreaksConnections && f.touchesClient(client) && f.from > renewed && f.to <= due
	})
}

type renewalJudge struct{ *trace }

// judge checks in the server log that a lock renews live holds at the promised
// interval, and never a released one.
func (j renewalJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for i := range j.beliefs {
		if c := &j.beliefs[i]; c.Renewed && j.claims.RenewEvery > 0 {
			v = earlier(v, j.judgeGaps(c))
			v = earlier(v, j.judgeNoticeInTime(c))
		}
	}
	for _, k := range j.owners {
		v = earlier(v, j.judgeSilence(k))
		v = earlier(v, j.judgeSilenceAfterClose(k))
	}
	return v
}

// judgeGaps measures the gaps between refreshes of a belief on each group of
// servers. As many groups may fail as the lock can lose.
func (j renewalJudge) judgeGaps(c *Belief) Verdict {
	acquire := j.op(c.AcquireOp)
	inv := acquire.inv
	end := min(c.To, j.closing.at(c.Client)) // a lock that was closed renews nothing
	var groups byGroup[renewals]
	bad := 0
	gap := func(group string, r *renewals, to int64, expired bool) {
		from := plus(r.last, j.setBackSince(r.refresh, to))
		if r.bad.Outcome != "" {
			return
		}
		slack := j.renewalSlack(c.Client, from)
		if j.brokeMeanwhile(c.Client, from) {
			slack += pauseOfClient
		}
		if from >= to || to <= acquire.ret+slack { // a lock renews what it has heard of, and an earlier try's hold may end before
			return
		}
		again := j.claims.RenewEvery // after a renewal that failed
		if expired && 2*again >= c.Lease {
			again = min(again, c.Lease/4) // the next one in turn comes too late
		}
		healed := j.lastHealed(c.Client, from, to)
		if healed > from && j.gaveWay(r.refresh.Node, to) {
			return
		}
		if healed > from && to-healed > again+slack {
			bad++
			r.bad = violation(healed+again, opIDs(acquire, j.op(c.EndOp)),
				"the hold of %s was not renewed on %s for %s from %s on, although nothing was wrong any more after %s; it is to be renewed every %s",
				c.Owner, group, long(to-from), at(from), at(healed), long(j.claims.RenewEvery))
			return
		}
		excused := j.overlap(from, to, j.claims.RenewEvery, delays(c.Client))
		if late := to - from - excused; late > j.claims.RenewEvery+slack {
			bad++
			r.bad = violation(from+j.claims.RenewEvery, opIDs(acquire, j.op(c.EndOp)),
				"the hold of %s was not renewed on %s for %s from %s on; it is to be renewed every %s",
				c.Owner, group, long(to-from), at(from), long(j.claims.RenewEvery))
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
				gap(s.group, r, s.t, false)
			}
			r.held, r.last, r.refresh = true, max(s.t, s.due(c.Lease)), s
		case held && s.was == c.Owner && s.ends():
			gap(s.group, r, s.t, s.Cause == "expiry")
			r.held = false
		}
	}
	v := Verdict{Outcome: OutcomeOK}
	for i := range groups {
		g := &groups[i]
		if g.is.held {
			gap(g.group, &g.is, end, false)
		}
		if g.is.bad.Outcome == Violated {
			v = earlier(v, g.is.bad)
		}
	}
	if bad <= j.claims.Nodes-j.claims.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	return v
}

// gaveWay reports whether another server, where clients then renew, took the place of one by a time.
func (t *trace) gaveWay(node string, by int64) bool {
	return slices.ContainsFunc(t.faults, func(f *faultSpan) bool {
		return f.Promotes && f.from <= by && slices.Contains(f.nodes, node) && f.promoted != node
	})
}

// renewals are the renewals of a belief on one group of servers.
type renewals struct {
	held    bool
	last    int64   // when its lease was down to the full one, at the latest
	refresh *change // the last one
	bad     Verdict // of the first gap that was too long
}

// setBackSince is the time by which faults have set a server's clock back since a refresh, and
// so delayed the end of a lease; never if unknown. A renewal changes nothing if more
// than a lease remains.
func (j renewalJudge) setBackSince(refresh *change, to int64) int64 {
	from, by := refresh.t-j.allow.underway-j.allow.machine, int64(0)
	for _, f := range j.faults[:j.faultsBefore(to)] {
		jumpedBefore := f.ClockJump != 0 && f.from < from
		if f.MovesClock && slices.Contains(f.nodes, refresh.Node) && f.to >= from && !jumpedBefore {
			by = plus(by, f.setsBack(from, to))
		}
	}
	return by
}

// judgeNoticeInTime checks that the holder of a renewed hold gets a notice when the servers no
// longer have it. The notice is due at the next renewal after a loss, and by the client's
// clock at the end of the lease.
func (j renewalJudge) judgeNoticeInTime(c *Belief) Verdict {
	if !j.claims.LostSign || !j.careful() || j.crashed.at(c.Client) == c.To || j.closing.at(c.Client) <= c.To {
		return Verdict{Outcome: OutcomeOK}
	}
	if l := j.lossOf(c, c.To); l.lost() && j.toldTooLate(c, l, c.To) {
		return violation(l.at+j.claims.RenewEvery, opIDs(j.op(c.AcquireOp), j.op(c.EndOp)),
			"%s went on until %s without a notice of its loss: %s", c.Owner, at(c.To), l.how)
	}
	owed, known := j.owedByServers(c, c.To)
	if !known || owed >= c.To || j.clockMoved(c.To) || j.groupsHolding(c.Lock, c.Owner, c.To, c.To, onPrimary) >= j.claims.Quorum {
		return Verdict{Outcome: OutcomeOK}
	}
	stopped := j.overlap(owed-min(owed, c.Lease), c.To, j.allow.healing, stops(c.Client))
	if c.To-owed-stopped <= j.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(owed, opIDs(j.op(c.AcquireOp), j.op(c.EndOp)), "%s went on until %s without a notice that its lease had ended at %s", c.Owner, at(c.To), at(owed))
}

// lastHealed is the end of the last fault that delayed a client between two times;
// the first of the two if there was none.
func (j renewalJudge) lastHealed(client string, from, to int64) int64 {
	healed := from
	for i := j.healed.lastBefore(j.faultsBefore(to), from+1); i >= 0; i = j.healed.lastBefore(i, from+1) {
		if f := j.faults[i]; delays(client)(f) {
			healed = max(healed, min(f.to, to))
		}
	}
	return healed
}

// due is when a hold of a lease needs a renewal to end when it does. A nested hold with a
// longer lease delays renewals: they change nothing until a lease or less remains.
func (c *change) due(lease int64) int64 {
	if lease == 0 {
		return c.t
	}
	if end := c.expires(); end != never {
		return end - lease
	}
	return never
}

// judgeSilence checks that an owner's client renews nothing after the owner has released all
// its holds. After a notice of loss it has one interval.
func (j renewalJudge) judgeSilence(k ownerLock) Verdict {
	steps := j.steps(k)
	var b bounds
	var from int64 = never // renewals from here on are wrong
	var last *op
	next := 0
	for _, c := range j.accountOf(k).changes.all {
		for ; next < len(steps) && steps[next].t < c.t; next++ {
			s := steps[next]
			b = b.after(s)
			switch {
			case s.o == nil && s.lost:
				from = s.t + j.claims.RenewEvery
			case s.o == nil:
			case s.o.f == history.Acquire && !s.ret:
				from = never
			case s.o.f == history.Acquire && s.o.kind != history.OK && !s.o.unclear() && b.hi == 0 && last != nil:
				from = s.t
			case s.o.f == history.Release && s.o.kind == history.OK && s.ret && b.hi == 0:
				from, last = s.t, s.o
				if j.claims.Nodes > 1 {
					from += j.claims.RenewEvery // servers beyond the quorum may lag
				}
			}
		}
		if from == never || c.t <= from || !c.command() || c.By != j.client[k.owner] {
			continue
		}
		if j.heldUpSince(c.By, from, c.t) {
			continue // it was sent while there was something to renew
		}
		if c.holder == k.owner && (c.raises() || (c.grants() && j.claims.Nodes == 1 && j.openOp(c.By, c.lock, history.Acquire, c.t) == nil)) {
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

// judgeSilenceAfterClose checks that a client renews nothing after it closed its lock.
func (j renewalJudge) judgeSilenceAfterClose(k ownerLock) Verdict {
	client := j.client[k.owner]
	closed := j.closed.at(client)
	if closed == never {
		return Verdict{Outcome: OutcomeOK}
	}
	for _, c := range j.accountOf(k).changes.from(closed + closingSlack + j.allow.machine) {
		if c.command() && c.By == client && c.holder == k.owner && c.raises() && !j.heldUpSince(client, closed, c.t) {
			return violation(c.t, opIDs(j.grantOf(k.owner, k.lock, c.t)), "%s renewed the hold of %s on %s at %s, after it had closed its lock at %s",
				client, k.owner, c.Node, at(c.t), at(closed))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
