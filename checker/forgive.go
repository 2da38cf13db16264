package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/linear"
	"github.com/holdfast-go/holdfast/history"
)

// excused is the rest of a violation after the excuses of faults. First it applies
// [trace.forgive] to single holds. Then, if faults left two servers that answer, it
// judges each of the servers by itself.
func (t *trace) excused(lock string, ops []linear.Op, v Verdict, judges *linear.Judges, o Options) (Verdict, error) {
	if forgiven, why := t.forgive(lock, ops, false); why != "" {
		again, err := t.orderOf(lock, forgiven, true, judges, o)
		if err != nil || again.Outcome == Violated {
			v = again
		} else {
			v = inherently(v, why)
		}
		if err != nil || !v.Faulty() {
			return v, err
		}
	}
	apart, _ := t.forgive(lock, ops, true)
	branches, why := t.branches(lock, apart)
	for _, branch := range branches {
		again, err := t.orderOf(lock, branch, true, judges, o)
		if err != nil || again.Outcome == Violated {
			return again, err
		}
	}
	return inherently(v, why), nil
}

// forgive applies the effects of faults on single holds to the operations: a hold
// ends when the servers lost it, and a release that they undid or forgot may have
// happened or not. A hold that a clock kept alive lasts as long as the server kept
// it. why is the first reason, or empty. With apart, a hold that one of two servers
// lacks is not lost, because the caller judges each server by itself.
func (t *trace) forgive(lock string, ops []linear.Op, apart bool) (forgiven []linear.Op, why string) {
	place := make(map[int64]int, len(ops))
	for i := range ops {
		place[ops[i].ID] = i
	}
	revived := map[int64]bool{} // refusals for a hold that had been released
	forgiven = slices.Clone(ops)
	for i := range forgiven {
		if p := &forgiven[i]; p.Kind == linear.FoundBusy {
			if back := t.revived(t.op(p.ID)); back != "" {
				revived[p.ID], why = true, cmp.Or(why, back)
			}
		}
		if p := &forgiven[i]; p.Kind == linear.FoundLost || p.Kind == linear.HeldNothing {
			if forgot := t.forgotten(t.op(p.ID)); forgot != "" {
				p.Kind, p.Return = linear.MaybeGave, linear.Forever
				why = cmp.Or(why, forgot)
			}
		}
		if p := &forgiven[i]; (p.Kind == linear.GotLock || p.Kind == linear.MaybeGot) && !p.Renewed {
			if kept, how := t.keptByClock(t.op(p.ID)); kept > p.Lease {
				p.Lease, why = kept, cmp.Or(why, how)
			}
		}
		if p := &forgiven[i]; p.Kind == linear.MaybeGot {
			if left, how := t.lostUnheard(t.op(p.ID)); how != "" && left < p.Lease {
				p.Lease, p.Renewed, why = left, false, cmp.Or(why, how)
			}
		}
	}
	for i := range t.claims {
		c := &t.claims[i]
		if c.Lock != lock {
			continue
		}
		k, until, end := ownerLock{c.Owner, c.Lock}, c.To, t.endingOf(c)
		if end != nil && (end.kind != history.OK || end.id != c.EndOp) {
			until = max(until, min(end.ret, t.endTime)) // it may have been lost before the release arrived
		}
		if _, dead := t.crashed[c.Client]; dead && end == nil {
			until = t.endTime // nobody releases it
		}
		l := t.lossOf(c, until)
		if l.groups < l.needed {
			if left := t.leftBehind(c, until); left.groups > 0 {
				l = left
			}
		}
		if len(t.changes) == 0 { // it was lost when another was granted the lock, at the latest
			next := t.nextClaim(i, until)
			switch l.at = until; {
			case next != nil:
				l.at = next.From
			case end != nil && end.kind == history.OK:
				l = lossOfHold{needed: 1} // it was there to be released
			}
		}
		if kept, how := t.keptUnseen(i, end); how != "" {
			if p, ok := place[c.AcquireOp]; ok && kept > forgiven[p].Lease {
				forgiven[p].Lease, why, l = kept, cmp.Or(why, how), lossOfHold{needed: 1}
			}
		}
		if apart && l.forked {
			l = lossOfHold{needed: 1}
		}
		if l.groups >= l.needed && !l.unconfirmed {
			why = cmp.Or(why, l.how)
			mine := &t.op(c.AcquireOp).own.ops
			for _, o := range mine.all[max(0, mine.latest(t.op(c.AcquireOp).inv)):] {
				if o.inv > min(until, l.at) {
					break
				}
				if p, ok := place[o.id]; ok && forgiven[p].Kind == linear.GotLock {
					from, known := t.carriedOut(o)
					if !known || t.claim.Nodes > 1 {
						from = o.ret
					}
					forgiven[p].Renewed, forgiven[p].Lease = false, min(forgiven[p].Lease, max(1, l.at-from))
				}
			}
		}
		if l.forked && end != nil {
			if p, ok := place[end.id]; ok && forgiven[p].Kind == linear.GaveBack {
				forgiven[p].Kind, forgiven[p].Return = linear.MaybeGave, linear.Forever // to the server that still had it
			}
			continue
		}
		if end == nil || end.f != history.Release || end.kind != history.OK {
			continue
		}
		if p, ok := place[end.id]; ok && t.undone(k, end) {
			why = cmp.Or(why, t.setBack(k, end.inv, plus(end.ret, t.allow.settling)))
			forgiven[p].Kind, forgiven[p].Return = linear.MaybeGave, linear.Forever
		}
	}
	return slices.DeleteFunc(forgiven, func(p linear.Op) bool { return revived[p.ID] }), why
}

// revived is why a refusal may be honest although the holder had released the lock: a
// replica never heard of that release, and answers in the place of another server. It
// is "" if the log shows no such hold.
func (t *trace) revived(refused *op) (how string) {
	if t.claim.Nodes > 1 {
		return ""
	}
	t.heldAt(t.account(ownerLock{"", refused.lock}), refused.inv, refused.ret, func(s *span) bool {
		if !s.replica || !t.replaced(s.group, refused.ret) {
			return false
		}
		k := ownerLock{s.holder, refused.lock}
		sure := t.account(k).ops.last(refused.inv, func(o *op) bool { return o.kind == history.OK })
		if sure != nil && sure.f == history.Release && sure.inv >= s.from {
			how = t.setBack(k, sure.inv, refused.ret)
		}
		return how != ""
	})
	return how
}

// nextClaim is the first claim of another owner on the lock of the ith one, after it
// and before a time; nil without such a claim.
func (t *trace) nextClaim(i int, before int64) *Claim {
	c := &t.claims[i]
	for j := i + 1; j < len(t.claims) && t.claims[j].From < before; j++ {
		if o := &t.claims[j]; o.Lock == c.Lock && o.Owner != c.Owner {
			return o
		}
	}
	return nil
}

// endingOf is the operation that ended a claim. If the owner had stopped work
// before, endingOf is the last release in a row that it requested; nil if there is
// none.
func (t *trace) endingOf(c *Claim) *op {
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

// lostUnheard is how long an acquire of unknown outcome held the lock until the
// servers lost its hold, and how they lost it; "" if they did not. Without a server
// log it was lost when another was granted the lock, at the latest.
func (t *trace) lostUnheard(o *op) (left int64, how string) {
	if len(t.changes) == 0 {
		next := slices.IndexFunc(t.claims, func(c Claim) bool { return c.Lock == o.lock && c.Owner != o.owner && c.From > o.inv })
		if next < 0 {
			return 0, ""
		}
		l := t.lossByTraits(t.claims[next].From)
		if l.groups < l.needed || l.at < o.inv {
			return 0, ""
		}
		return max(1, l.at-o.inv), l.how
	}
	var held *span
	t.heldAt(o.own, o.inv, t.untilNext(o), func(s *span) bool {
		if !s.replica && s.to > o.inv && (held == nil || s.from < held.from) {
			held = s
		}
		return false
	})
	if held == nil {
		return 0, ""
	}
	l := t.lossOf(&Claim{Owner: o.owner, Client: o.client, Lock: o.lock, AcquireOp: o.id, Lease: o.args.Lease, Renewed: o.args.Renewed}, held.to)
	if l.groups < l.needed || l.unconfirmed || l.forked {
		return 0, ""
	}
	return max(1, l.at-max(held.from, o.inv)), l.how // an inner hold begins later than its owner's on the server
}

// undone reports whether a server that replaced another has a hold that had been
// released.
func (t *trace) undone(k ownerLock, release *op) bool {
	found := false
	t.heldAt(release.own, release.ret+1, plus(release.ret, t.allow.settling), func(s *span) bool {
		found = !s.replica && s.from < release.ret || s.replica && t.replaced(s.group, plus(release.ret, t.allow.settling))
		return found
	})
	return found && t.setBack(k, release.inv, plus(release.ret, t.allow.settling)) != ""
}
