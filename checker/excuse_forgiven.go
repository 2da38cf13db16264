package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// excuseViolation is the rest of a violation after the excuses of faults. First it applies
// [trace.forgive] to single holds. Then, if faults left two servers that answer, it
// judges each of the servers by itself.
func (j linearizableJudge) excuseViolation(lock string, ops []linear.Op, v Verdict, judges *linear.Judges, o Options) (Verdict, error) {
	if forgiven, why := j.forgiveOps(lock, ops, false); why != "" {
		again, err := j.orderOf(lock, forgiven, true, judges, o)
		if err != nil || again.Outcome == Violated {
			v = again
		} else {
			v = inherently(v, why)
		}
		if err != nil || !v.Faulty() {
			return v, err
		}
	}
	apart, _ := j.forgiveOps(lock, ops, true)
	branches, why := j.branches(lock, apart)
	for _, branch := range branches {
		again, err := j.orderOf(lock, branch, true, judges, o)
		if err != nil || again.Outcome == Violated {
			return again, err
		}
	}
	return inherently(v, why), nil
}

// forgiveOps applies the effects of faults on single holds to the operations. A hold ends
// when the servers lost it. A release that they undid or forgot may have happened or
// not. A hold that a clock kept alive lasts as long as the server kept it. why is the
// first reason, or empty. With apart, a hold that one of two servers lacks is not lost,
// because the caller judges each server by itself.
func (t *trace) forgiveOps(lock string, ops []linear.Op, apart bool) (forgiven []linear.Op, why string) {
	f := forgiving{trace: t, ops: slices.Clone(ops), place: make(map[int64]int, len(ops)), apart: apart}
	unwatched := len(t.changes) == 0
	revived := map[int64]bool{} // refusals for a hold that no owner had any more
	for i := range f.ops {
		p := &f.ops[i]
		f.place[p.ID] = i
		if p.Kind == linear.FoundBusy {
			revived[p.ID] = f.addReason(cmp.Or(t.whyRevived(t.op(p.ID)), t.whyKeptByTheGone(t.op(p.ID))))
		}
		f.forgiveAnswer(p, t.whyForgotten)
		if (p.Kind == linear.GotLock || p.Kind == linear.MaybeGot) && !p.Renewed {
			if kept, how := t.keptByClock(t.op(p.ID)); kept > p.Lease {
				f.addReason(how)
				p.Asked, p.Lease = p.Asked-(kept-p.Lease), kept // the owner still ends it by its own clock
			}
		}
		if unwatched && (p.Kind == linear.GotLock || p.Kind == linear.MaybeGot) {
			f.loosenHold(p)
		} else if p.Kind == linear.MaybeGot {
			if left, how := t.lostUnheard(t.op(p.ID)); left < p.Lease && f.addReason(how) {
				p.Lease, p.Renewed = left, false
			}
		}
	}
	for i := range t.beliefs {
		switch {
		case t.beliefs[i].Lock != lock:
		case unwatched:
			f.forgiveRelease(f.endingOf(&t.beliefs[i]), false)
		default:
			f.forgiveHold(i)
		}
	}
	for i := range f.ops {
		f.forgiveAnswer(&f.ops[i], t.whyUnheardOf)
	}
	return append(slices.DeleteFunc(f.ops, func(p linear.Op) bool { return revived[p.ID] }), f.ends...), f.why
}

// forgiving are the operations on a lock while [trace.forgive] changes them.
type forgiving struct {
	*trace
	ops   []linear.Op
	place map[int64]int // by the id of the operation
	ends  []linear.Op   // of holds that servers may have lost
	why   string
	apart bool
}

// addReason notes a reason, and reports whether there is one.
func (f *forgiving) addReason(why string) bool {
	f.why = cmp.Or(f.why, why)
	return why != ""
}

func (f *forgiving) findOp(o *op, kind linear.Kind) *linear.Op {
	if o == nil {
		return nil
	}
	if i, ok := f.place[o.id]; ok && f.ops[i].Kind == kind {
		return &f.ops[i]
	}
	return nil
}

// forgiveHold applies the effects of faults on the hold of the ith belief, and on its release.
func (f *forgiving) forgiveHold(i int) {
	c := &f.beliefs[i]
	until, end := c.To, f.endingOf(c)
	if end != nil && (end.kind != history.OK || end.id != c.EndOp) {
		until = max(until, min(end.ret, f.endTime)) // it may have been lost before the release arrived
	}
	_, dead := f.crashed[c.Client]
	closed := f.closing.at(c.Client) < never
	if (dead || closed) && end == nil || closed && end != nil && end.failed(history.ErrCanceled) {
		until = f.endTime // no owner releases it
	}
	l := f.lossUntil(i, until)
	if f.apart && l.forked {
		l = notLost
	}
	if l.lost() && !l.unconfirmed {
		f.addReason(l.how)
		f.shortenHolds(c, l.at, min(until, l.at))
		if !l.forked { // the branches of a fork are judged apart
			f.releasedElsewhere(c, l.at)
		}
	}
	f.forgiveRelease(end, l.forked)
}

// forgiveAnswer makes a release uncertain that found no hold for a reason.
func (f *forgiving) forgiveAnswer(p *linear.Op, why func(*op) string) {
	if (p.Kind == linear.FoundLost || p.Kind == linear.HeldNothing) && f.addReason(why(f.op(p.ID))) {
		p.Kind, p.Return = linear.MaybeGave, linear.Forever
	}
}

// forgiveRelease makes a release uncertain that faults may have undone. In a fork it may
// have gone to the server that still had the hold.
func (f *forgiving) forgiveRelease(end *op, forked bool) {
	if gave := f.findOp(end, linear.GaveBack); gave != nil && (forked || f.addReason(f.whyUndone(end))) {
		gave.Kind, gave.Return = linear.MaybeGave, linear.Forever
	}
}

// loosenHold lets the hold of an acquire end at any time since a fault that may have ended
// it. Where faults set clocks back, the hold may last longer than its lease. Without a
// server log nothing tells which of several holds the servers lost.
func (f *forgiving) loosenHold(p *linear.Op) {
	o := f.op(p.ID)
	until := min(f.endTime, f.asksAgain(o).asked)
	if l := f.lossByTraits(o.inv, until); l.lost() && f.addReason(l.how) {
		p.MayEnd = max(l.from, o.inv)
	}
	if longer, how := f.setBackDuring(o, p.Lease, until); !p.Renewed && f.addReason(how) {
		p.MayEnd = cmp.Or(p.MayEnd, plus(o.inv, p.Lease))
		p.Lease = plus(p.Lease, longer)
	}
	if p.MayEnd > 0 && f.claims.Capacity() == 1 { // package linear follows a mutex by its operations
		f.ends = append(f.ends, linear.Op{ID: p.ID, Owner: p.Owner, Kind: linear.MaybeGave, Call: p.MayEnd, Asked: p.MayEnd, Return: linear.Forever})
	}
}

// lossUntil is the loss of the ith belief by a time, without the lock's doing.
func (t *trace) lossUntil(i int, by int64) lossOfHold {
	l := t.lossOf(&t.beliefs[i], by)
	if !l.lost() {
		if left := t.leftBehind(&t.beliefs[i], by); left.groups > 0 {
			l = left
		} else if next := t.nextBelief(i, by); next != nil { // a late request may have put it on one more server since
			l = t.lossOf(&t.beliefs[i], next.From)
		}
	}
	return l
}

// endHold ends a hold after some time, if nothing ends it before.
func endHold(p *linear.Op, after int64) {
	if p.Renewed || after < p.Lease {
		p.Renewed, p.Lease = false, max(1, after)
	}
}

// shortenHolds ends the holds of a belief at the time of its loss, if their owner asked for
// them by then.
func (f *forgiving) shortenHolds(c *Belief, lost, by int64) {
	asked := f.op(c.AcquireOp)
	for _, o := range asked.own.ops.all[asked.own.ops.latest(asked.inv):] {
		if o.inv > by {
			break
		}
		if p := f.findOp(o, linear.GotLock); p != nil {
			from, known := f.carriedOut(o)
			if !known || f.claims.Nodes > 1 {
				from = o.ret
			}
			endHold(p, lost-from)
		}
	}
}

// releasedElsewhere makes the releases of a belief uncertain that came after its loss. The
// server that carried them out still had the hold, and took the place of the other one.
func (f *forgiving) releasedElsewhere(c *Belief, lost int64) {
	asked := f.op(c.AcquireOp)
	for _, o := range asked.own.ops.all[asked.own.ops.latest(asked.inv):] {
		if gave := f.findOp(o, linear.GaveBack); gave != nil {
			if when, known := f.carriedOut(o); known && when > lost {
				gave.Kind, gave.Return = linear.MaybeGave, linear.Forever
			}
		}
	}
}

// endingOf is the operation that ended a belief. If the owner had stopped work before, its
// last release in a row ended it; without a release the result is nil.
func (t *trace) endingOf(c *Belief) *op {
	if end := t.op(c.EndOp); end != nil {
		return end
	}
	asked := t.op(c.AcquireOp)
	var end *op
	for _, o := range asked.own.ops.all[asked.own.ops.from(c.To):] {
		if o.f == history.Release {
			end = o
		} else if o.f == history.Acquire || end != nil {
			break
		}
	}
	return end
}

// lostUnheard is the time for which an acquire of unknown outcome held the lock until the servers
// lost its hold, and the reason; "" if they did not lose it.
func (t *trace) lostUnheard(o *op) (left int64, how string) {
	var held *span
	for s := range o.own.heldAt(o.inv, t.untilNext(o)) {
		if !s.replica && s.to > o.inv && (held == nil || s.from < held.from) {
			held = s
		}
	}
	if held == nil {
		return 0, ""
	}
	l := t.lossOf(&Belief{Owner: o.owner, Client: o.client, Lock: o.lock, AcquireOp: o.id, Lease: o.args.Lease, Renewed: o.args.Renewed}, held.to)
	if !l.lost() || l.unconfirmed || l.forked {
		return 0, ""
	}
	return max(1, l.at-max(held.from, o.inv)), l.how // an inner hold begins later than its owner's on the server
}
