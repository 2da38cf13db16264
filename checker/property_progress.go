package checker

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Progress: Every waiter gets the lock or its timeout in time, and none sleeps on a free lock.
const Progress Property = "progress"

var progressProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Progress, Promise: "Every waiter gets the lock or its timeout in time, and none sleeps on a free lock.",
		Broken: "a waiter does not get a lock that is free, or an operation does not end",
	},
	judge: plainly(judgeProgress),
}

// notice is the allowed delay of a hand-off beyond the promised one.
const notice = 100 * millisecond

// judgeProgress checks that operations return, and that bounded waits end in time. No
// waiter may wait while no owner holds the lock, or sleep on a free lock. No abandoned
// acquire may exclude others.
func judgeProgress(t *trace) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, n := range t.notes {
		if n.F == history.Panic {
			msg := ""
			if n.Result != nil {
				msg, _, _ = strings.Cut(n.Result.Message, "\n")
			}
			return violation(n.Time, nil, "the lock panicked in %s at %s: %s", n.Client, at(n.Time), msg)
		}
	}
	waits := map[string]*waiting{}
	for _, l := range t.locks {
		waits[l] = t.waiting(l)
	}
	for _, o := range t.ops {
		v = earlier(v, t.returned(o))
		if o.f == history.Acquire {
			v = earlier(v, t.heedsCancel(o))
			v = earlier(v, t.endsWithClose(o))
			v = earlier(v, t.takenBack(o))
			v = earlier(v, t.inTime(o))
			v = earlier(v, t.waitsForSomebody(o, waits[o.lock]))
			v = earlier(v, t.notOnFree(o, waits[o.lock]))
		}
	}
	return v
}

func (t *trace) returned(o *op) Verdict {
	if !o.open() {
		return Verdict{Outcome: OutcomeOK}
	}
	if _, crashed := t.crashed[o.client]; crashed {
		return Verdict{Outcome: OutcomeOK}
	}
	if t.end.CutOff {
		return t.overdue(o)
	}
	for _, f := range t.faults {
		if f.open && disturbs(o.client)(f) {
			return Verdict{Outcome: OutcomeOK} // never healed
		}
	}
	return violation(o.inv, opIDs(o), "the %s of %s, begun at %s, never returned", o.f, o.owner, at(o.inv))
}

// inTime checks a bounded wait: it must not end late, except after a pause of the
// waiter, nor long before its end.
func (t *trace) inTime(o *op) Verdict {
	if o.args.Wait < 0 || o.open() {
		return Verdict{Outcome: OutcomeOK}
	}
	if early := o.inv + o.args.Wait - o.ret; o.failed(history.ErrBusy) && early > t.allow.waitSlack {
		return violation(o.ret, opIDs(o), "the acquire of %s was to wait %s from %s on and gave up %s early",
			o.owner, long(o.args.Wait), at(o.inv), long(early))
	}
	paused := t.overlap(o.inv, o.ret, 0, stops(o.client))
	if o.args.Wait == 0 { // a single try has no time to keep to but that of its requests
		paused = t.overlap(o.inv, o.ret, t.allow.healing, disturbs(o.client))
	}
	if late := o.ret - o.inv - o.args.Wait - paused; late > t.allow.waitSlack {
		return violation(o.inv+o.args.Wait, opIDs(o), "the acquire of %s was to wait at most %s from %s on and returned %s late",
			o.owner, long(o.args.Wait), at(o.inv), long(late))
	}
	return Verdict{Outcome: OutcomeOK}
}

// waitEnd is the end of an acquire's wait, as far as it is known.
func (t *trace) waitEnd(o *op) int64 {
	return min(o.ret, t.endTime, t.crashed.at(o.client))
}

// waiting describes the obstacles of the waiters of one lock.
type waiting struct {
	believed busyTimes // when an owner believed that it held the lock
	taken    busyTimes // when too few servers were free
	lease    int64     // the longest that was asked for
	// within is taken, by client, with the servers out of its reach as taken ones;
	// nil for a client that reaches all.
	within map[string]*busyTimes
}

func (t *trace) waiting(lock string) *waiting {
	w := &waiting{taken: merged(t.taken(lock, nil)), within: map[string]*busyTimes{}}
	believed := make([][2]int64, 0, len(t.ended[lock]))
	for _, i := range t.ended[lock] {
		believed = append(believed, [2]int64{t.beliefs[i].From, t.mayHoldUntil(&t.beliefs[i])})
	}
	for _, o := range t.byLock[lock] {
		if when, crashed := t.crashed[o.client]; crashed && o.f == history.Acquire && o.open() {
			believed = append(believed, [2]int64{when, when}) // it may have been granted, and leave a lease of its own
		}
		if granted, missed := t.missedGrant(o); missed {
			believed = append(believed, [2]int64{granted, o.ret})
		}
		if o.f == history.Acquire {
			w.lease = max(w.lease, o.args.Lease)
		}
	}
	for _, k := range t.owners {
		if k.lock == lock {
			w.lease = max(w.lease, t.account(k).longestExtension(0, never))
		}
	}
	w.believed = merged(believed)
	if !t.claims.Lease {
		w.lease = t.claims.Session
	}
	return w
}

// mayHoldUntil is when a belief is over for waiters. An owner of nested holds that gets
// no answer to a release keeps the outer ones, and its lock renews them. So the number
// of its holds is unknown while it repeats the release.
func (t *trace) mayHoldUntil(c *Belief) int64 {
	end := t.op(c.EndOp)
	if end == nil || end.f != history.Release || !end.unclear() || !t.claims.Reentrant {
		return c.To
	}
	ops := end.own.ops.all
	last := end.own.ops.latest(end.inv)
	first := end.own.ops.latest(t.op(c.AcquireOp).inv)
	if !slices.ContainsFunc(ops[first:last], func(o *op) bool { return o.granted() && o.res.Count > 1 }) {
		return c.To
	}
	for last+1 < len(ops) && ops[last+1].f == history.Release && ops[last+1].unclear() {
		last++
	}
	return min(ops[last].ret, t.endTime)
}

// missedGrant is when a server granted an acquire whose reply a fault blocked: its
// client holds the lock and does not know it. missed is false without such a grant.
func (t *trace) missedGrant(o *op) (when int64, missed bool) {
	if o.f != history.Acquire || o.open() {
		return 0, false
	}
	for _, c := range o.own.changes.between(o.inv+1, o.ret-1) {
		if c.grants() && c.holder == o.owner {
			return c.t, t.overlap(c.t, o.ret, t.allow.healing, func(f *faultSpan) bool {
				return f.touchesClient(o.client) && (f.holdsMessages() || f.LosesReplies || f.StopsProcess)
			}) > 0
		}
	}
	return 0, false
}

// waitsForSomebody finds a part of a wait in which nobody believed to hold the
// lock, longer than the longest lease of a dead holder.
func (t *trace) waitsForSomebody(o *op, w *waiting) Verdict {
	bound := w.lease + t.claims.Handoff + t.allow.waitSlack
	from, to, idle := t.longestGap(&w.believed, o, t.waitEnd(o), disturbs(o.client))
	if t.claims.Handoff > 0 && t.claims.Nodes == 1 && idle > t.claims.Handoff+t.allow.waitSlack && !t.mayLinger(o.lock, from, to) {
		bound = t.claims.Handoff + t.allow.waitSlack // every hold before was given back
	}
	if idle <= bound || t.cannotConfirm(to) {
		return Verdict{Outcome: OutcomeOK}
	}
	if late := t.renewedLate(o.lock, from); late > from && to-late-t.overlap(late, to, t.allow.healing, disturbs(o.client)) <= bound {
		return Verdict{Outcome: OutcomeOK}
	}
	leases := "the lock has no leases"
	switch {
	case t.claims.Lease:
		leases = "no lease is longer than " + long(w.lease)
	case t.claims.Session > 0:
		leases = "a session ends within " + long(w.lease)
	}
	v := violation(from+bound, opIDs(o, t.lastHolder(o.lock, from)), "%s waited from %s to %s while nobody held the lock: %s, and %s",
		o.owner, at(from), at(to), t.lastHeld(o.lock, from), leases)
	return inherently(v, t.inherentSilence(o.lock, to))
}

// mayLinger reports whether a hold without a believer may have excluded others between
// two times: an unreleased one, or one whose client missed the grant.
func (t *trace) mayLinger(lock string, from, to int64) bool {
	if t.overlap(0, to, t.allow.settling, anyFault) > 0 {
		return true
	}
	for _, o := range t.byLock[lock] {
		if o.inv > to {
			break
		}
		refused := o.f == history.Acquire && o.failed(history.ErrBusy)
		if o.kind != history.OK && !refused && o.ret > from-min(from, t.leaseOf(o)) {
			return true
		}
	}
	return slices.ContainsFunc(t.beliefs, func(c Belief) bool {
		return c.Lock == lock && c.From <= to && c.To <= from && c.EndedBy != "release"
	})
}

// cannotConfirm reports whether too few replicas may have remained by then to
// confirm a grant.
func (t *trace) cannotConfirm(by int64) bool {
	return t.claims.Acks > 0 && slices.ContainsFunc(t.faults, func(f *faultSpan) bool {
		return f.from <= by && (f.Promotes || f.StopsNode || f.HoldsReplication || f.Forks)
	})
}

// renewedLate is when the last holder's last renewal arrived, if the holder sent
// it before its release and faults delayed it since; otherwise 0. The lease counts
// from there, and no lock can recall it.
func (t *trace) renewedLate(lock string, letGo int64) int64 {
	holder := t.lastHolder(lock, letGo)
	if holder == nil {
		return 0
	}
	var late int64
	for _, c := range holder.own.changes.from(letGo) {
		if t.commandOf(c, holder) && c.holder == holder.owner && c.raises() && t.heldUpSince(c.By, letGo, c.t) {
			late = c.t
		}
	}
	return late
}

// notOnFree finds a part of a wait in the server log in which enough servers were
// free to take the lock.
func (t *trace) notOnFree(o *op, w *waiting) Verdict {
	if t.claims.Handoff <= 0 || len(t.changes) == 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	bound := t.claims.Handoff*t.lateSubscriptions(o) + notice + t.allow.machine
	taken, excused := &w.taken, disturbs(o.client)
	if t.claims.Nodes > t.claims.Quorum {
		// A quorum lock copes with servers that are out of reach, and asks each of
		// them for a small part of a lease.
		if within := t.withinReach(o, w); within != nil {
			taken = within
			excused = func(f *faultSpan) bool { return disturbs(o.client)(f) && f.groups() == nil }
			bound = plus(bound, t.leaseOf(o)/10)
		}
	}
	from, to, idle := t.longestGap(taken, o, t.waitEnd(o), excused)
	if idle <= bound || t.cannotConfirm(to) {
		return Verdict{Outcome: OutcomeOK}
	}
	return byServers(violation(from+t.claims.Handoff, opIDs(o, t.lastHolder(o.lock, from)),
		"%s slept on a free lock from %s to %s; it is to notice within %s", o.owner, at(from), at(to), long(t.claims.Handoff)))
}

// isCutOff is the reason of verdicts on facts that a cut-off history cannot show.
const isCutOff = "the history is cut off: nobody looked at what remained"

// overdue checks a bounded wait that was open at the cut: the lock is at fault
// only if the wait should have ended.
func (t *trace) overdue(o *op) Verdict {
	if o.f != history.Acquire || o.args.Wait < 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	excused := t.overlap(o.inv, t.endTime, t.allow.healing, touches(o.client))
	late := t.endTime - o.inv - o.args.Wait - excused
	if late <= t.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(o.inv+o.args.Wait, opIDs(o), "the acquire of %s was to wait at most %s from %s on and had not returned %s later, when the history was cut off",
		o.owner, long(o.args.Wait), at(o.inv), long(late))
}
