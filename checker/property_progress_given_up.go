package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// judgeTakenBack checks that an acquire without a grant leaves no hold on a server, if the
// lock promises that. Such a hold excludes all owners until its lease ends, and no
// owner will release it.
func (j progressJudge) judgeTakenBack(o *op) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if _, crashed := j.crashed[o.client]; crashed || !j.claims.TakesBack || o.kind == history.OK || o.open() {
		return v
	}
	again := j.asksAgain(o)
	for s := range o.own.heldAt(o.ret+1, again.asked-1) {
		if s.replica || j.replaced(s.group, o.ret) || j.replaced(s.group, s.from) && j.handed(s) {
			continue // this server may never have heard that the owner left
		}
		to := min(s.to, again.joined)
		if j.end.CutOff { // what was still to come is not known
			to = min(to, j.endTime)
		}
		if from, excused := j.noObstacleFrom(j.makerOf(s, o), s); !excused && to-max(from, o.ret) > j.allow.takingBack {
			v = earlier(v, byServers(violation(max(from, o.ret)+j.allow.takingBack, opIDs(o), "the acquire of %s ended at %s without a grant; %s held the lock for it until %s",
				o.owner, at(o.ret), s.node, at(min(s.to, j.endTime)))))
		}
	}
	if v.Outcome == Violated && j.hadHold(o) {
		return Verdict{Outcome: OutcomeOK}
	}
	return v
}

// makerOf is the operation that left a hold on a server. It is the given acquire, unless that
// sent nothing there. Then it is an earlier one of its owner, or the release of that.
func (j progressJudge) makerOf(s *span, o *op) *op {
	if s.from >= o.inv {
		return o
	}
	for _, c := range o.own.changes.between(o.inv, o.ret) {
		if c.group == s.group && j.commandOf(c, o) {
			return o
		}
	}
	earlier := o.own.ops.last(s.from, func(p *op) bool { return p.f == history.Acquire && !p.open() })
	if earlier != nil && earlier.granted() {
		earlier = o.own.ops.last(o.inv, func(p *op) bool { return p.f == history.Release && !p.open() })
	}
	return cmp.Or(earlier, o)
}

// askedAgain is when an owner acquired again after an operation: later holds may
// come from that acquire. joined is when it may have adopted an earlier hold by a
// nested acquire.
type askedAgain struct{ asked, joined int64 }

func (t *trace) asksAgain(o *op) askedAgain {
	ops := o.own.ops.all
	after := o.own.asked // the i-th operation and all later ones
	if after == nil {
		after = make([]askedAgain, len(ops)+1)
		after[len(ops)] = askedAgain{never, never}
		for i, o := range slices.Backward(ops) {
			after[i] = after[i+1]
			if o.f != history.Acquire {
				continue
			}
			after[i].asked = o.inv
			if o.kind == history.OK || o.open() || t.claims.Reentrant {
				after[i].joined = o.inv
			}
		}
		o.own.asked = after
	}
	return after[o.own.ops.latest(o.inv)+1]
}

// hadHold reports whether an owner already had a hold at an acquire.
func (t *trace) hadHold(o *op) bool {
	had := o.own.had
	if had == nil {
		var b bounds
		for _, s := range t.steps(ownerLock{o.owner, o.lock}) {
			if s.o != nil && !s.ret {
				had = append(had, b.hi > 0)
			}
			b = b.after(s)
		}
		o.own.had = had
	}
	ops := o.own.ops.all
	return had[sort.Search(len(ops), func(i int) bool { return ops[i].n >= o.n })]
}

// noObstacleFrom is when the last obstacle to taking an acquire back on a server was gone;
// excused if that was too late.
func (t *trace) noObstacleFrom(o *op, s *span) (from int64, excused bool) {
	if t.ofEarlyRound(o, s) {
		return 0, true
	}
	from = o.ret
	ended := t.gaveUpAt(o)
	for _, f := range t.faults[:t.faultsBefore(plus(s.to, 1))] {
		if f.from > from+t.allow.takingBack {
			break // there was time enough before it
		}
		if f.sparesPrimary() || (!f.touchesClient(o.client) && !f.touchesGroup(s.group)) {
			continue
		}
		to := f.to
		if f.Instant && f.only(history.Traits{BreaksConnections: true}) {
			to = f.from
		}
		unheard := f.LosesReplies && to > ended // its client waits for its timeout
		if f.BreaksConnections && f.from >= o.inv {
			to = plus(max(to, ended), pauseOfPool) // its client finds a connection broken when it next uses it
		}
		if to <= ended {
			continue
		}
		if f.open || unheard || to > ended+t.allow.takenBackLater {
			return 0, true
		}
		from = max(from, to)
	}
	return from, false
}

// gaveUpAt is when an acquire ended for its lock. A simulated pause stops the messages
// of a client and not its timers, so the lock may have given up while it lasted.
func (t *trace) gaveUpAt(o *op) int64 {
	for _, f := range t.faults[:t.faultsBefore(o.ret)] {
		if t.h.Header.Order == history.TotalOrder && f.StopsProcess && f.touchesClient(o.client) && f.from > o.inv && plus(f.to, t.allow.rounding) >= o.ret {
			return f.from
		}
	}
	return o.ret
}

// ofEarlyRound reports whether a hold on one of several servers comes from a request
// that a fault delayed for long. The acquire, if it is known, gave that request up long
// before the server executed it.
func (t *trace) ofEarlyRound(acquire *op, s *span) bool {
	return acquire != nil && t.claims.Nodes > 1 && s.from > acquire.ret && s.from-max(acquire.inv, t.heldBack(acquire.client, s.group, s.from)) > t.allow.takenBackLater
}

// cancelsAnother reports whether a cancellation concerned another owner's operation than o.
func (j progressJudge) cancelsAnother(o *op, f *faultSpan) bool {
	return slices.ContainsFunc(j.ops, func(p *op) bool {
		return p.client == o.client && p.owner != o.owner && p.inv <= f.from && p.ret >= f.from && (o.inv == p.inv || f.CancelsFirst == (p.inv < o.inv))
	})
}

// judgeCancel checks that an acquire returns soon after the cancellation of its
// context. (A release goes on.)
func (j progressJudge) judgeCancel(o *op) Verdict {
	for _, f := range j.faults[j.faultsBefore(o.inv):] {
		if f.from >= o.ret {
			break
		}
		if !f.Cancels || !f.touchesClient(o.client) {
			continue
		}
		end := j.waitEnd(o)
		excused := j.overlap(f.from, end, j.allow.healing, func(f *faultSpan) bool {
			return f.touchesClient(o.client) && !f.only(history.Traits{LosesNotices: f.LosesNotices, HoldsSubscriptions: f.HoldsSubscriptions, Cancels: f.Cancels})
		})
		if late := end - f.from - excused; late > j.allow.waitSlack && !j.cancelsAnother(o, f) {
			return violation(f.from+j.allow.waitSlack, opIDs(o), "the context of the %s of %s was cancelled at %s; it went on for %s",
				o.f, o.owner, at(f.from), long(end-f.from))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// judgeClose checks that an acquire returns soon and without a grant after its
// client closed the lock.
func (j progressJudge) judgeClose(o *op) Verdict {
	closed := j.closed.at(o.client)
	if closed == never || o.inv > closed || o.ret <= plus(closed, j.allow.waitSlack) {
		return Verdict{Outcome: OutcomeOK}
	}
	end := j.waitEnd(o)
	excused := j.overlap(closed, end, j.allow.healing, touches(o.client))
	if end-closed-excused <= j.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(closed+j.allow.waitSlack, opIDs(o), "%s closed its lock at %s; the acquire of %s, begun at %s, went on for %s",
		o.client, at(closed), o.owner, at(o.inv), long(end-closed))
}
