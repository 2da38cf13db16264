package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// whySilenceInherent decides violations of progress and leftover keys. Without a
// lease, nothing ends the hold of a dead owner, or one that a fault keeps its client
// from ending. Nor does it end a hold that a server without the release brings back. A
// session ends the first two, once servers can notice its end.
func (t *trace) whySilenceInherent(lock string, from, by int64) string {
	if t.claims.Lease || t.claims.Session > 0 && !t.unheardEnd(by) {
		return ""
	}
	for s := range t.accountOf(ownerLock{"", lock}).heldAt(by, by) {
		own := t.accountOf(ownerLock{s.holder, lock})
		if asked := own.ops.last(s.from, isAcquire); asked != nil && t.answersFor(s, by) && slices.ContainsFunc(own.changes.between(asked.inv, by), func(c *change) bool {
			return c.Node != s.node && c.command() && c.was == s.holder && c.ends()
		}) {
			return fmt.Sprintf("%s, which answers in the place of another server, never heard that %s gave the lock back, and the lock has no lease", s.node, s.holder)
		}
	}
	for _, o := range t.byLock[lock] {
		if o.inv > by {
			break
		}
		when, crashed := t.crashed[o.client]
		switch {
		case crashed && when <= by && (o.granted() || o.open()):
			if !t.gaveBackBy(o, when) {
				return fmt.Sprintf("%s died at %s with the lock, which has no lease", o.client, at(when))
			}
		case o.f == history.Release && o.kind == history.Info && t.mayEndUnknown(o):
			return fmt.Sprintf("the release of %s got lost at %s, and the lock has no lease", o.owner, at(o.ret))
		case o.f == history.Release && o.inv <= from && from < by && by-from-t.outOfReach(o, from, by) <= t.claims.Handoff+t.allow.waitSlack:
			return fmt.Sprintf("a fault held up the release of %s, begun at %s, and the lock has no lease", o.owner, at(o.inv))
		case o.f == history.Acquire && o.kind != history.OK && !o.open() && t.heardTooLate(o, from, by):
			return fmt.Sprintf("the acquire of %s ended at %s without a grant, a fault kept its client from taking it back, and the lock has no lease", o.owner, at(o.ret))
		}
	}
	return ""
}

// outOfReach is the part of a time in which faults kept an operation's client from the
// servers. One that was not over when the operation returned kept back a request at most,
// and the client got through with another. Of one that loses notices too, new connections work.
func (t *trace) outOfReach(o *op, from, to int64) int64 {
	return t.overlap(from, to, t.allow.healing, func(f *faultSpan) bool {
		return f.touchesClient(o.client) && f.to <= o.ret && (f.holdsMessages() || f.LosesReplies && !f.LosesNotices || f.StopsProcess)
	})
}

// heardTooLate reports whether a server had the hold of an acquire without a grant until
// about the end of a time. A fault kept its client from taking it back. The hold may come
// from a request that the fault withheld while its owner acquired again.
func (t *trace) heardTooLate(o *op, from, by int64) bool {
	return o.own.anyHeld(from, by, func(s *span) bool {
		could, excused := t.noObstacleFrom(o, s)
		late := by - s.to - t.claims.Handoff - t.allow.waitSlack
		return late <= 0 && (excused || s.to-could <= t.allow.takingBack) && s.from >= o.inv &&
			(s.from < t.asksAgain(o).asked || t.heldUpSince(o.client, o.ret, s.from))
	})
}

// answersFor reports whether a failover made the server of a hold the primary.
func (t *trace) answersFor(s *span, by int64) bool {
	return slices.ContainsFunc(t.faults, func(f *faultSpan) bool {
		return f.Promotes && f.from <= by && cmp.Or(f.promoted, s.node) == s.node && !slices.Contains(f.nodes, s.node)
	})
}

// unheardEnd reports whether a fault may have hidden the end of a connection from the
// servers. Then they could not end its session by that time.
func (t *trace) unheardEnd(by int64) bool {
	return slices.ContainsFunc(t.faults, func(f *faultSpan) bool {
		return f.from <= by && f.holdsMessages() && plus(f.to, t.claims.Session+t.allow.settling) >= by
	})
}

func (t *trace) gaveBackBy(o *op, by int64) bool {
	return slices.ContainsFunc(o.own.ops.all, func(r *op) bool {
		return r.f == history.Release && r.kind == history.OK && r.inv >= o.inv && r.ret <= by
	})
}

// singleTry is the wait of an acquire that is not to wait, if its lock has no single try.
const singleTry = 50 * millisecond

// keptBy reports whether a release gave nothing back, neither before it returned nor
// in the time that a request needs after it. It is false if the owner requested more
// in that time, or for several servers.
func (t *trace) keptBy(release *op) bool {
	if release.f != history.Release || t.claims.Nodes > 1 {
		return false
	}
	until := plus(release.ret, t.allow.takingBack)
	if until >= t.endTime || t.untilNext(release) < until {
		return false
	}
	for _, c := range release.own.changes.between(release.inv, until) {
		if c.givesBack(release.owner) {
			return false
		}
	}
	return release.own.anyHeld(until, until, func(s *span) bool { return !s.replica && s.from < release.inv })
}

// negligible bounds a latency that the header leaves out.
const negligible = millisecond

// mayEndUnknown decides unknown outcomes. Such an outcome is right if a fault held the
// request or its reply, stopped the server or the process, or cancelled the operation. It
// is also right if an acquire ended with its wait, before a slow server could answer. A cancelled
// release that never released the hold has no excuse: no other owner could. Nor has a
// release if enough of several servers had the hold, and were in reach.
func (t *trace) mayEndUnknown(o *op) bool {
	to := min(o.ret, t.endTime)
	if o.f == history.Acquire {
		over := o.ret - (o.inv + o.args.Wait)
		if o.args.Wait == 0 && over >= singleTry {
			over -= singleTry
		}
		if over >= -t.allow.waitSlack && over < messagesOfRequest*min(max(t.h.Header.Latency, negligible), second) {
			return true
		}
	}
	if t.closing.at(o.client) <= to {
		return true
	}
	excuses := func(f *faultSpan) bool {
		if f.from > to || !f.touchesClient(o.client) {
			return false
		}
		until := plus(f.to, t.allow.settling)
		if f.BreaksConnections || f.StopsNode || f.Promotes {
			until = never // a connection is found broken when it is next used
		}
		return until >= o.inv && (f.holdsMessages() || f.LosesReplies || f.BreaksConnections || f.Refuses || f.StopsNode || f.Promotes ||
			f.StopsProcess || f.EndsProcess || f.RefusesGrants && !(o.f == history.Release && t.claims.Hardened) || f.Cancels && !t.keptBy(o) || f.HoldsReplication || f.Forks || f.HoldsSubscriptions)
	}
	if !slices.ContainsFunc(t.faults, excuses) {
		return false
	}
	lost := func(s *span) bool { // before the request arrived
		return s.to <= o.inv || slices.ContainsFunc(o.own.changes.between(o.inv, o.ret), func(c *change) bool {
			return c.group == s.group && c.was == o.owner && c.ends() && !c.command()
		})
	}
	if o.f != history.Release || t.claims.Nodes == 1 {
		return true
	}
	grant := t.grantOf(o.owner, o.lock, o.inv)
	return t.groupsHolding(o.lock, o.owner, o.inv, o.inv, func(s *span) bool {
		return !s.replica && !lost(s) && !t.ofEarlyRound(grant, s) && !slices.ContainsFunc(t.faults, func(f *faultSpan) bool { return excuses(f) && f.touchesLink(o.client, s.group) })
	}) < t.claims.Quorum
}
