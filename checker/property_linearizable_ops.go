package checker

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// slackOfServers is the distance of a hold's end from its lease on the server's
// side: servers round to milliseconds, and clients subtract two for safety.
const slackOfServers = 5 * millisecond

// rulesOf requires Nodes to be at least 1. If the lock declares longer leases than
// requested, a lease may end that much later. The judges of exclusion and leases
// decide whether it may end earlier.
func rulesOf(c history.Terms, who *linear.Roster) linear.Rules {
	return linear.Rules{Owners: who, Reentrant: c.Reentrant, Capacity: int32(c.Capacity()), Loose: c.Nodes > 1, Slack: slackOfServers + c.LeaseSlack, Margin: c.Margin}
}

// lockOps translates the operations on one lock. The server log may show that an acquire
// held the lock for a while and released it before it returned. lockOps adds an
// operation for that, because others were rightly refused meanwhile. A handed-on hold
// that never became whole lasts as long as the servers left it. byLog reports whether
// the log changed the operations in this way. lockOps leaves out refusals by a queue in
// which another owner had an acquire open, because they do not depend on holds.
func (j linearizableJudge) lockOps(lock string) (ops []linear.Op, byLog bool) {
	ops = j.endsOfSessions(lock, make([]linear.Op, 0, len(j.byLock[lock])))
	ops = j.lossesOfTheDead(lock, ops) // before the acquire with the same id: forgive looks for that one
	var places, writers queue          // empty unless the lock has a queue
	if j.claims.Fairness || j.claims.PrefersWriters {
		places, writers = j.queueOf(j.byLock[lock], isAcquire), j.queueOf(j.byLock[lock], isWriting)
	}
	for _, o := range j.byLock[lock] {
		_, crashed := j.crashed[o.client]
		if until := o.res.Until; crashed && until > 0 && !o.args.Renewed && !j.claims.Reentrant && o == o.own.ops.all[len(o.own.ops.all)-1] { // its grant named the end
			ops = append(ops, linear.Op{ID: o.id, Owner: j.who.Number(o.owner), Kind: linear.MaybeGave, Call: until, Return: linear.Forever, Asked: until})
		}
		other := int32(0)
		if name := j.other[o.owner]; name != "" {
			other = j.who.Number(name)
		}
		l, known := lockOpOf(o, j.claims, j.who.Number(o.owner), other, crashed)
		if l.Kind == linear.FoundBusy && j.metItself(o) {
			known, byLog = false, true
		}
		if o.f == history.Acquire && (o.kind != history.Fail || o.res.Error == history.ErrBusy) && j.gaveBackWithin(o) {
			g := l
			g.Kind, g.Return = linear.TookAndGave, min(o.back, linear.Forever)
			ops, byLog = append(ops, g), true
		}
		if l.Kind == linear.GotLock || l.Kind == linear.MaybeGot {
			if j.claims.Fairness {
				if left := j.neverWhole(o); left > 0 {
					l.Lease, byLog = min(l.Lease, left), true
				}
			}
			if l.Renewed = l.Renewed || o.mayBeExtended(); !l.Renewed {
				l.Lease = j.leaseOnServer(o, l.Lease)
			}
		}
		if j.tokens && l.Kind == linear.GotLock {
			l.Token = o.res.Token
		}
		if l.Kind == linear.GaveBack {
			l.Call = min(l.Call, j.releasedSince(o))
		}
		if l.Kind == linear.FoundLost || l.Kind == linear.HeldNothing {
			if told := j.toldLost(o); told < o.inv {
				l.Kind, l.Call = linear.FoundLost, told
			}
			if until, past := j.pastValidity(o); past {
				l.Kind, l.Call, l.Return = linear.MaybeGave, min(l.Call, until), linear.Forever
			}
		}
		if known && (l.Kind != linear.FoundBusy || o.args.Self != "" || isWriting(o) && !places.hasOther(o, 1) || !isWriting(o) && !writers.hasOther(o, 0)) {
			ops = append(ops, l)
		}
	}
	return ops, byLog
}

// metItself reports whether an acquire met a hold that an earlier one of its owner, of
// unknown outcome, had left. A lock may leave it unless it claims to take acquires back.
func (t *trace) metItself(o *op) bool {
	last := o.own.ops.last(o.inv, func(p *op) bool { return countKnownAfter(p) || p.f == history.Acquire && p.unclear() })
	return t.claims.Reentrant && !t.claims.TakesBack && last != nil && last.unclear() && o.own.anyHeld(o.inv, o.ret, anyServer)
}

// lossesOfTheDead adds the releases that owners would have made which were notified of a
// loss and died before they released. Their client may have released the hold.
func (j linearizableJudge) lossesOfTheDead(lock string, ops []linear.Op) []linear.Op {
	for _, n := range j.notes {
		died, dead := j.crashed[n.Client]
		if n.F != history.Lost || n.Lock != lock || n.Owner == "" || !dead {
			continue
		}
		own := &j.accountOf(ownerLock{n.Owner, lock}).ops
		held := own.last(n.Time, countKnownAfter)
		if held == nil || held.f != history.Acquire {
			continue
		}
		if after := own.last(died, func(o *op) bool { return o.f == history.Release && o.inv >= n.Time }); after == nil {
			ops = append(ops, linear.Op{ID: held.id, Owner: j.who.Number(n.Owner), Kind: linear.FoundLost, Call: n.Time, Return: died, Asked: n.Time})
		}
	}
	return ops
}

// queue has the times at which acquires began and ended, each sorted.
type queue struct{ from, to []int64 }

// queueOf has those operations that may have a place in a queue. A single try may take one
// until its client gives it up.
func (t *trace) queueOf(ops []*op, mayQueue func(*op) bool) (q queue) {
	for _, o := range ops {
		if mayQueue(o) {
			q.from, q.to = append(q.from, o.inv), append(q.to, t.leftQueue(o, o.args.Lease))
		}
	}
	slices.Sort(q.from)
	slices.Sort(q.to)
	return q
}

// leftQueue is when the place of an acquire is gone for certain. Like a hold, a place may
// outlast a client that dies or has no answer by a lease.
func (t *trace) leftQueue(o *op, lease int64) int64 {
	gone := min(o.ret, t.crashed.at(o.client))
	left := gone
	if o.unclear() {
		left = plus(gone, lease)
	}
	for _, f := range t.faults[:t.faultsBefore(gone)] {
		if f.HoldsRequests && f.touchesClient(o.client) && f.to > gone { // a try may arrive then
			left = max(left, plus(f.to, lease))
		}
	}
	return left
}

// hasOther reports whether more than its own acquires were open during an operation.
func (q queue) hasOther(o *op, own int) bool {
	begun, _ := slices.BinarySearch(q.from, o.ret+1)
	ended, _ := slices.BinarySearch(q.to, o.inv)
	return begun-ended > own
}

// leaseOnServer is the lease that a server gave the hold of an acquire, if the lock
// declares that it may exceed the requested one.
func (t *trace) leaseOnServer(o *op, lease int64) int64 {
	most := t.onServer(lease)
	if most <= lease || lease == linear.Forever {
		return lease
	}
	for c := range t.commandsOf(o) {
		if c.holder == o.owner && c.TTL > lease && c.TTL <= most {
			return c.TTL
		}
	}
	return lease
}

// pastValidity reports whether a release came after the end that the grant had named for
// its hold. From then on the lock may say that it is over, and grant it to another owner.
func (j linearizableJudge) pastValidity(release *op) (until int64, past bool) {
	a := j.grantOf(release.owner, release.lock, release.inv)
	if a == nil || j.claims.Reentrant || a.args.Renewed || a.res.Until <= 0 || a.res.Until > release.ret {
		return 0, false
	}
	return a.res.Until, true
}

// toldLost is when the owner of a release that finds no hold was notified of its loss.
// That is the first notice since it last knew its holds, or now. From then on it has no
// hold, even if it waits for another one.
func (j linearizableJudge) toldLost(release *op) int64 {
	since := int64(0)
	if sure := release.own.ops.last(release.inv, func(o *op) bool { return o != release && countKnownAfter(o) }); sure != nil {
		since = sure.ret
	}
	for _, n := range j.notesOf[release.client] {
		if n.F == history.Lost && n.Owner == release.owner && n.Lock == release.lock && since <= n.Time && n.Time < release.inv {
			return n.Time
		}
	}
	return release.inv
}

// countKnownAfter reports whether an operation shows its owner the number of its holds.
func countKnownAfter(o *op) bool {
	switch o.f {
	case history.Acquire:
		return o.kind == history.OK
	case history.Release:
		return o.kind == history.OK || o.kind == history.Fail && (o.res.Error == history.ErrNotHeld || o.res.Error == history.ErrLost)
	}
	return false
}

// lockOpOf returns an operation on a lock in the form of the judges. known is false if
// its outcome says nothing. An operation of unknown outcome may take effect at any time
// after its invocation. One without an effect is the same as one after all others.
// crashed means that its client is gone.
func lockOpOf(o *op, claim history.Terms, owner, other int32, crashed bool) (l linear.Op, known bool) {
	l = linear.Op{
		ID: o.id, Owner: owner, Other: other, Call: o.call, Return: o.back, Asked: o.inv, Lease: min(leaseUnder(claim, o), linear.Forever),
		Weight: int32(claim.Weight(o.args.Share)), Renewed: o.args.Renewed, Count: int32(o.res.Count), Crashed: crashed && o.open(),
	}
	known = true
	switch o.f {
	case history.Acquire:
		switch {
		case o.kind == history.OK:
			l.Kind = linear.GotLock
		case o.failed(history.ErrBusy):
			l.Kind, known = linear.FoundBusy, claim.Nodes == 1
		case o.kind == history.Fail && o.res.Error != history.ErrOther:
			l.Kind = linear.TookAndGave
		default:
			l.Kind, l.Return = linear.MaybeGot, linear.Forever
		}
	case history.Release:
		switch {
		case o.kind == history.OK:
			l.Kind = linear.GaveBack
		case o.failed(history.ErrNotHeld):
			l.Kind = linear.HeldNothing
		case o.failed(history.ErrLost):
			l.Kind = linear.FoundLost
		default:
			l.Kind, l.Return = linear.MaybeGave, linear.Forever
		}
	case history.Inspect:
		l.Kind, known = linear.Inspected, o.kind == history.OK && claim.Nodes == 1
	}
	return l, known
}

// pinToLog moves operations to their instant in the server log, if exactly one command
// matches. It returns nil if there is nothing to move, or if several servers take part.
func (j linearizableJudge) pinToLog(ops []linear.Op) []linear.Op {
	if len(j.changes) == 0 || j.claims.Nodes > 1 {
		return nil
	}
	pinned := slices.Clone(ops)
	moved := false
	for i := range pinned {
		p := &pinned[i]
		o := j.op(p.ID)
		if p.Kind != linear.GotLock && p.Kind != linear.MaybeGot && p.Kind != linear.GaveBack {
			continue
		}
		if when, ok := j.carriedOut(o); ok {
			p.Call, p.Return = when, when
			p.Lease = max(1, p.Lease-j.notedLate(o, when))
			moved = true
			if longer := j.extendedUntil(o) - plus(when, p.Lease); longer > 0 && !p.Renewed && p.Lease >= min(j.leaseOf(o), linear.Forever) { // no fault ended it
				p.Lease, p.Asked = p.Lease+longer, p.Asked-longer // the owner may count from its first request
			}
		}
	}
	if !moved {
		return nil
	}
	return pinned
}

// notedLate is the time after which a real server noted a grant that had run. Its time to
// live is that much shorter than the lease.
func (j linearizableJudge) notedLate(o *op, when int64) int64 {
	for _, c := range o.own.changes.between(when, when) {
		if late := o.args.Lease - c.TTL; c.takes() && c.TTL > 0 && 0 < late && late <= j.allow.machine {
			return late
		}
	}
	return 0
}

// carriedOut is when a server executed an operation: the only change by its client
// for its owner before the owner went on. An acquire of unknown outcome may
// execute later, and counts if it did before the owner's next request.
func (t *trace) carriedOut(o *op) (when int64, ok bool) {
	to := t.untilNext(o)
	for _, c := range o.own.changes.between(o.inv, to) {
		if ok && o.granted() && c.Role == "primary" && c.was == o.owner && c.ends() {
			return 0, false // its owner had not heard of that one, and waited on
		}
		if !t.commandOf(c, o) {
			continue
		}
		took := c.holder == o.owner && (c.grants() || c.Count > c.WasCount)
		gave := c.givesBack(o.owner)
		if (o.f == history.Acquire && gave) || (o.f == history.Release && took) {
			return 0, false
		}
		if took || gave {
			if ok {
				return 0, false
			}
			when, ok = c.t, true
		}
	}
	return when, ok
}

// extendedUntil is when the hold of an acquire ends that repeated its request before it
// returned. The repetition made its hold last longer. It is 0 without one.
func (t *trace) extendedUntil(o *op) (until int64) {
	for c := range t.commandsOf(o) {
		if c.holder == o.owner && c.raises() {
			until = max(until, c.expires())
		}
	}
	return min(until, linear.Forever)
}

// gaveBackWithin reports whether the servers saw an acquire's client take the lock for its
// owner, and the hold end again, during the acquire. If the end was not its client's doing,
// the acquire has failed, or took the lock once more. One that never heard of the hold may
// take it for a new lease before the end.
func (j linearizableJudge) gaveBackWithin(o *op) bool {
	took, ended := false, false
	for _, c := range o.own.changes.between(o.inv, o.ret) {
		mine := j.commandOf(c, o)
		takes := mine && c.holder == o.owner && c.grants()
		again := ended && takes || took && mine && c.holder == o.owner && c.raises() && c.Count <= c.WasCount
		if c.was == o.owner && c.ends() && mine || again {
			return true
		}
		took = took || takes
		ended = ended || took && c.was == o.owner && c.ends() && c.Role == "primary"
	}
	return ended && o.kind == history.Fail
}
