package checker

import (
	"cmp"
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
	harm: func(verdicts map[Property]Verdict) Harm {
		if verdicts[Cleanup].Outcome == Violated { // no owner ends the hold, ever
			return Deadlock
		}
		return freeLockUnused
	},
	judge: plainly(func(t *trace) Verdict { return progressJudge{t}.judge() }),
}

// notice is the allowed delay of a hand-off beyond the promised one.
const notice = 100 * millisecond

type progressJudge struct{ *trace }

// judge checks that operations return, and that bounded waits end in time. No
// waiter may wait while no owner holds the lock, or sleep on a free lock. No abandoned
// acquire may exclude others.
func (j progressJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, n := range j.notes {
		if n.F == history.Panic {
			msg := ""
			if n.Result != nil {
				msg = strings.Join(strings.Fields(n.Result.Message), " ")
			}
			return violation(n.Time, nil, "the lock panicked in %s at %s: %s", n.Client, at(n.Time), msg)
		}
	}
	waits := map[waiter]*waiting{}
	waitOf := func(o *op) *waiting {
		k := j.waiterOf(o)
		if waits[k] == nil {
			waits[k] = j.waitersLike(k)
		}
		return waits[k]
	}
	for _, o := range j.ops {
		v = earlier(v, j.judgeReturn(o))
		if o.f == history.Acquire {
			v = earlier(v, j.judgeCancel(o))
			v = earlier(v, j.judgeClose(o))
			v = earlier(v, j.judgeTakenBack(o))
			v = earlier(v, j.judgeWait(o))
			v = earlier(v, j.judgeIdleWait(o, waitOf(o)))
			v = earlier(v, j.judgeSleep(o, waitOf(o)))
		}
	}
	return v
}

func (j progressJudge) judgeReturn(o *op) Verdict {
	if !o.open() {
		return Verdict{Outcome: OutcomeOK}
	}
	if _, crashed := j.crashed[o.client]; crashed {
		return Verdict{Outcome: OutcomeOK}
	}
	if j.end.CutOff {
		return j.judgeOverdue(o)
	}
	for _, f := range j.faults {
		if f.open && disturbs(o.client)(f) {
			return Verdict{Outcome: OutcomeOK} // never healed
		}
	}
	return violation(o.inv, opIDs(o), "the %s of %s, begun at %s, never returned", o.f, o.owner, at(o.inv))
}

// judgeWait checks a bounded wait: it must not end late, except after a pause of the
// waiter, nor long before its end.
func (j progressJudge) judgeWait(o *op) Verdict {
	if o.args.Wait < 0 || o.open() {
		return Verdict{Outcome: OutcomeOK}
	}
	if early := o.inv + o.args.Wait - o.ret; o.failed(history.ErrBusy) && early > j.allow.waitSlack {
		return violation(o.ret, opIDs(o), "the acquire of %s was to wait %s from %s on and gave up %s early",
			o.owner, long(o.args.Wait), at(o.inv), long(early))
	}
	paused := j.overlap(o.inv, o.ret, 0, stops(o.client))
	if o.args.Wait == 0 { // a single try has no time to keep to but that of its requests
		if j.cannotConfirm(o.ret) && j.mayBeGranted(o) {
			return Verdict{Outcome: OutcomeOK} // it gives the replicas time
		}
		paused = j.overlap(o.inv, o.ret, j.allow.healing, disturbs(o.client))
	}
	if late := o.ret - o.inv - o.args.Wait - paused; late > j.allow.waitSlack {
		return violation(o.inv+o.args.Wait, opIDs(o), "the acquire of %s was to wait at most %s from %s on and returned %s late",
			o.owner, long(o.args.Wait), at(o.inv), long(late))
	}
	return Verdict{Outcome: OutcomeOK}
}

// waitEnd is the end of an acquire's wait, as far as it is known. An owner that has the lock
// in the other mode waits like no other for as long as the servers have that hold.
func (j progressJudge) waitEnd(o *op) int64 {
	end, held := min(o.ret, j.endTime, j.crashed.at(o.client)), o.inv
	if o.args.Self == "" || len(j.changes) == 0 {
		return end
	}
	j.accountOf(ownerLock{o.args.Self, o.lock}).anyHeld(o.inv, end, func(s *span) bool { held = max(held, s.to); return false })
	return min(end, held)
}

// waiter stands for those who wait for one lock with one weight. An owner that has the lock
// in the other mode stands for itself. That hold is not in its way, and it waits in no queue.
type waiter struct {
	lock   string
	weight int
	other  string // the name of that owner in the other mode, or alone
}

const alone = "-"

func (j progressJudge) waiterOf(o *op) waiter {
	return waiter{o.lock, j.weightOf(o), cmp.Or(o.args.Self, alone)}
}

// waiting describes the obstacles of the waiters of one lock.
type waiting struct {
	believed busyTimes  // when owners believed that they held the lock, and it had no room
	taken    busyTimes  // when too few servers were free
	lease    int64      // the longest that was asked for
	queued   [][2]int64 // when heavier ones waited behind whom they wait, too
	// within is taken, by client, with the servers out of its reach as taken ones;
	// nil for a client that reaches all.
	within map[string]*busyTimes
}

func (j progressJudge) waitersLike(k waiter) *waiting {
	lock, weight, w := k.lock, k.weight, &waiting{within: map[string]*busyTimes{}}
	edges := make([]edge, 0, 2*len(j.ended[lock]))
	believe := func(from, to int64, takes int) {
		edges = append(edges, edge{from, "", takes}, edge{to, "", -takes})
	}
	for _, i := range j.ended[lock] {
		if j.beliefs[i].Owner == k.other {
			continue
		}
		believe(j.beliefs[i].From, j.mayHoldUntil(&j.beliefs[i]), j.beliefs[i].Weight)
	}
	for _, o := range j.byLock[lock] {
		if when, crashed := j.crashed[o.client]; crashed && o.f == history.Acquire && o.open() {
			believe(when, when, j.weightOf(o)) // it may have been granted, and leave a lease of its own
		}
		if granted, missed := j.missedGrant(o); missed {
			believe(granted, o.ret, j.weightOf(o))
		}
		if o.f == history.Acquire {
			w.lease = max(w.lease, o.args.Lease)
		}
	}
	for _, x := range j.owners {
		if x.lock == lock {
			w.lease = max(w.lease, j.accountOf(x).longestExtension(0, never))
		}
	}
	if !j.claims.Lease {
		w.lease = j.claims.Session
	}
	for _, o := range j.byLock[lock] {
		if k.other == alone && (j.claims.PrefersWriters || j.claims.Fairness) && isAcquire(o) && j.weightOf(o) > weight {
			w.queued = append(w.queued, [2]int64{o.inv, j.leftQueue(o, w.lease)})
		}
	}
	w.taken = merged(append(j.timesTaken(k, nil), w.queued...))
	w.believed = merged(append(j.timesWithoutRoom(edges, weight, 0), w.queued...))
	return w
}

// mayHoldUntil is when a belief is over for waiters. An owner of nested holds that gets
// no answer to a release keeps the outer ones, and its lock renews them. So the number
// of its holds is unknown while it repeats the release.
func (j progressJudge) mayHoldUntil(c *Belief) int64 {
	end := j.op(c.EndOp)
	if end == nil || end.f != history.Release || !end.unclear() || !j.claims.Reentrant {
		return c.To
	}
	ops := end.own.ops.all
	last := end.own.ops.latest(end.inv)
	first := end.own.ops.latest(j.op(c.AcquireOp).inv)
	if !slices.ContainsFunc(ops[first:last], func(o *op) bool { return o.granted() && o.res.Count > 1 }) {
		return c.To
	}
	for last+1 < len(ops) && ops[last+1].f == history.Release && ops[last+1].unclear() {
		last++
	}
	return min(ops[last].ret, j.endTime)
}

// missedGrant is when a server granted an acquire whose reply a fault blocked: its
// client holds the lock and has not heard of it. missed is false without such a grant.
func (j progressJudge) missedGrant(o *op) (when int64, missed bool) {
	if o.f != history.Acquire || o.open() {
		return 0, false
	}
	for _, c := range o.own.changes.between(o.inv+1, o.ret-1) {
		if c.grants() && c.holder == o.owner {
			return c.t, j.overlap(c.t, o.ret, j.allow.healing, func(f *faultSpan) bool {
				return f.touchesClient(o.client) && (f.holdsMessages() || f.LosesReplies || f.StopsProcess)
			}) > 0
		}
	}
	return 0, false
}

// judgeIdleWait finds a part of a wait in which no owner believed to have the lock,
// longer than the longest lease of a dead holder.
func (j progressJudge) judgeIdleWait(o *op, w *waiting) Verdict {
	bound := w.lease + j.claims.Handoff + j.allow.waitSlack
	from, to, idle := j.longestGap(&w.believed, o, j.waitEnd(o), disturbs(o.client))
	if j.claims.Handoff > 0 && j.claims.Nodes == 1 && idle > j.claims.Handoff+j.allow.waitSlack && !j.mayLinger(o.lock, from, to) {
		bound = j.claims.Handoff + j.allow.waitSlack // every hold before was given back
	}
	if idle <= bound || j.cannotConfirm(to) {
		return Verdict{Outcome: OutcomeOK}
	}
	if late := max(j.renewedLate(o.lock, from), j.grantedLate(o.lock, to)); late > from && to-late-j.overlap(late, to, j.allow.healing, disturbs(o.client)) <= bound {
		return Verdict{Outcome: OutcomeOK}
	}
	leases := "the lock has no leases"
	switch {
	case j.claims.Lease:
		leases = "no lease is longer than " + long(w.lease)
	case j.claims.Session > 0:
		leases = "a session ends within " + long(w.lease)
	}
	v := violation(from+bound, opIDs(o, j.lastHolder(o.lock, from)), "%s waited from %s to %s%s: %s, and %s",
		o.owner, at(from), at(to), cmp.Or(j.hadRoom(o, from, to), " while nobody held the lock"), j.lastHeld(o.lock, from), leases)
	return inherently(v, j.whySilenceInherent(o.lock, from, to))
}

// mayLinger reports whether a hold without a believer may have excluded others between
// two times: an unreleased one, or one whose client missed the grant.
func (j progressJudge) mayLinger(lock string, from, to int64) bool {
	if j.overlap(0, to, j.allow.settling, anyFault) > 0 {
		return true
	}
	for _, o := range j.byLock[lock] {
		if o.inv > to {
			break
		}
		refused := o.f == history.Acquire && o.failed(history.ErrBusy)
		if o.kind != history.OK && !refused && o.ret > from-min(from, j.leaseOf(o)) {
			return true
		}
	}
	return slices.ContainsFunc(j.beliefs, func(c Belief) bool {
		return c.Lock == lock && c.From <= to && c.To <= from && c.EndedBy != "release"
	})
}

// cannotConfirm reports whether too few replicas may have remained by then to
// confirm a grant.
func (j progressJudge) cannotConfirm(by int64) bool {
	return j.claims.Acks > 0 && slices.ContainsFunc(j.faults, func(f *faultSpan) bool {
		return f.from <= by && (f.Promotes || f.StopsNode || f.HoldsReplication || f.Forks)
	})
}

// mayBeGranted reports whether a server may have granted an acquire before it ended.
func (j progressJudge) mayBeGranted(o *op) bool {
	return len(j.changes) == 0 || slices.ContainsFunc(o.own.changes.between(o.inv, o.ret), func(c *change) bool {
		return c.grants() && c.holder == o.owner
	})
}

// renewedLate is when the last holder's last renewal arrived, if the holder sent
// it before its release and faults delayed it since; otherwise 0. The lease counts
// from there, and no lock can recall it.
func (j progressJudge) renewedLate(lock string, letGo int64) int64 {
	holder := j.lastHolder(lock, letGo)
	if holder == nil {
		return 0
	}
	var late int64
	for _, c := range holder.own.changes.from(letGo) {
		if j.commandOf(c, holder) && c.holder == holder.owner && c.raises() && j.heldUpSince(c.By, letGo, c.t) {
			late = c.t
		}
	}
	return late
}

// grantedLate is when a server last granted a request that its client had given up, or died
// with, and that faults held since; otherwise 0. Without a server log, faults may have held
// it until their end.
func (j progressJudge) grantedLate(lock string, by int64) (late int64) {
	for _, o := range j.byLock[lock] {
		gone := min(o.ret, j.crashed.at(o.client))
		if o.f != history.Acquire || !o.unclear() || gone >= by {
			continue
		}
		for _, f := range j.faults[:j.faultsBefore(gone)] {
			if len(j.changes) == 0 && f.holdsMessages() && f.touchesClient(o.client) && f.to > gone && f.to < by {
				late = max(late, f.to)
			}
		}
		for _, c := range o.own.changes.between(gone, min(by, j.asksAgain(o).asked-1)) {
			if j.commandOf(c, o) && c.holder == o.owner && c.grants() && j.heldUpSince(c.By, gone, c.t) {
				late = max(late, c.t)
			}
		}
	}
	return late
}

// judgeSleep finds a part of a wait in the server log in which enough servers were
// free to take the lock.
func (j progressJudge) judgeSleep(o *op, w *waiting) Verdict {
	if j.claims.Handoff <= 0 || len(j.changes) == 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	bound := j.claims.Handoff*j.lateSubscriptions(o) + notice + j.allow.machine
	taken, excused := &w.taken, disturbs(o.client)
	if j.claims.Nodes > j.claims.Quorum {
		// A quorum lock copes with servers that are out of reach, and asks each of
		// them for a small part of a lease.
		if within := j.withinReach(o, w); within != nil {
			taken = within
			excused = func(f *faultSpan) bool { return disturbs(o.client)(f) && f.groups() == nil }
			bound = plus(bound, j.leaseOf(o)/10)
		}
	}
	from, to, idle := j.longestGap(taken, o, j.waitEnd(o), excused)
	if idle <= bound || j.cannotConfirm(to) {
		return Verdict{Outcome: OutcomeOK}
	}
	return byServers(violation(from+j.claims.Handoff, opIDs(o, j.lastHolder(o.lock, from)),
		"%s slept%s from %s to %s; it is to notice within %s", o.owner, cmp.Or(j.hadRoom(o, from, to), " on a free lock"), at(from), at(to), long(j.claims.Handoff)))
}

// hadRoom says of a lock with room for several what it had for an acquire; "" of a mutex. It
// names the claim that is missing if readers wait behind writers.
func (t *trace) hadRoom(o *op, from, to int64) string {
	switch {
	case t.claims.Capacity() == 1:
		return ""
	case isWriting(o) || o.args.Self != "" || t.claims.PrefersWriters || !t.queueOf(t.byLock[o.lock], isWriting).hasOther(&op{inv: from, ret: to}, 0):
		return " while the lock had room"
	}
	return " while the lock had room for a reader, and a writer waited, whom readers may pass without the claim prefers_writers,"
}

// isCutOff is the reason of verdicts on facts that a cut-off history cannot show.
const isCutOff = "the history is cut off: nobody looked at what remained"

// judgeOverdue checks a bounded wait that was open at the cut: the lock is at fault
// only if the wait should have ended.
func (j progressJudge) judgeOverdue(o *op) Verdict {
	if o.f != history.Acquire || o.args.Wait < 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	excused := j.overlap(o.inv, j.endTime, j.allow.healing, touches(o.client))
	late := j.endTime - o.inv - o.args.Wait - excused
	if late <= j.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(o.inv+o.args.Wait, opIDs(o), "the acquire of %s was to wait at most %s from %s on and had not returned %s later, when the history was cut off",
		o.owner, long(o.args.Wait), at(o.inv), long(late))
}
