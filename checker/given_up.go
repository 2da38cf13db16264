package checker

import "github.com/holdfast-go/holdfast/history"

// takenBack checks that an acquire which did not end in a grant leaves no hold
// on a server, where the lock promises that. What is left keeps everybody out
// until its lease ends, and nobody knows that it is there.
func (t *trace) takenBack(o *op) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if _, crashed := t.crashed[o.client]; crashed || !t.claim.TakesBack || o.kind == history.OK || o.open() {
		return v
	}
	asked, joined := t.asksAgain(o)
	t.heldAt(ownerLock{o.owner, o.lock}, o.ret+1, never, func(s *span) bool {
		if s.replica || s.from >= asked || t.replaced(s.group, o.ret) {
			return false
		}
		to := min(s.to, joined)
		if t.end.CutOff { // what was still to come is not known
			to = min(to, t.endTime)
		}
		if from, excused := t.free(o, s); !excused && to-from > t.allow.takingBack {
			v = earlier(v, byServers(violation(from+t.allow.takingBack, opIDs(o), "the acquire of %s ended at %s without a grant; %s held the lock for it until %s",
				o.owner, at(o.ret), s.node, at(min(s.to, t.endTime)))))
		}
		return false
	})
	if v.Outcome == Violated && t.hadHold(o) {
		return Verdict{Outcome: OutcomeOK}
	}
	return v
}

// asksAgain says when an owner asked for the lock again after an acquire had
// ended: holds that begin later may be due to that. joined is when it may have
// made an earlier hold its own, by taking it once more.
func (t *trace) asksAgain(o *op) (asked, joined int64) {
	asked, joined = never, never
	ops := t.byOwner[ownerLock{o.owner, o.lock}]
	for _, later := range ops[latest(ops, o.inv)+1:] {
		if later.f != history.Acquire {
			continue
		}
		asked = min(asked, later.inv)
		if later.kind == history.OK || later.open() || t.claim.Reentrant {
			joined = min(joined, later.inv)
		}
	}
	return asked, joined
}

// hadHold says whether an owner had a hold when it asked for another.
func (t *trace) hadHold(o *op) bool {
	var b bounds
	for _, s := range t.steps(ownerLock{o.owner, o.lock}) {
		if s.o == o && !s.ret {
			return b.hi > 0
		}
		b = b.after(s)
	}
	return false
}

// free is from when on nothing kept an owner from taking its acquire back on a
// server; excused when that was too late.
func (t *trace) free(o *op, s *span) (from int64, excused bool) {
	from = o.ret
	for i := range t.faults {
		f := &t.faults[i]
		if f.sparesPrimary() {
			continue
		}
		if f.from > s.to || f.to <= o.ret || (!f.touchesClient(o.client) && !f.touchesGroup(s.group)) {
			continue
		}
		if f.open || f.to > o.ret+t.allow.takenBackLater {
			return 0, true
		}
		from = max(from, f.to)
	}
	return from, false
}

// replaced says whether another server may have taken the place of one of a
// group by then.
func (t *trace) replaced(group string, by int64) bool {
	for i := range t.faults {
		if f := &t.faults[i]; f.from <= by && f.touchesGroup(group) && f.replacesServer() {
			return true
		}
	}
	return false
}

// heedsCancel checks that an acquire returns soon after its context was
// cancelled. (A release has to carry on.)
func (t *trace) heedsCancel(o *op) Verdict {
	for i := range t.faults {
		f := &t.faults[i]
		if !f.Cancels || f.from < o.inv || f.from >= o.ret || !f.touchesClient(o.client) {
			continue
		}
		end := t.waitEnd(o)
		excused := t.overlap(f.from, end, t.allow.healing, func(f *faultSpan) bool {
			return f.touchesClient(o.client) && !f.cancelsAtMost()
		})
		if late := end - f.from - excused; late > t.allow.waitSlack {
			return violation(f.from+t.allow.waitSlack, opIDs(o), "the context of the %s of %s was cancelled at %s; it went on for %s",
				o.f, o.owner, at(f.from), long(end-f.from))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
