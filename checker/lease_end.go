package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// leaseOnServers is the time in which the servers owed a belief its lease, with the
// renewals until its owner asks for the lock again. It rests on the same evidence as the
// verdict on an overlap. Both ends are 0 where no lease is known to end.
func (t *trace) leaseOnServers(b *Belief) (from, to int64) {
	o := t.op(b.AcquireOp)
	by := plus(t.endTime, 1)
	if i := o.own.ops.from(b.To); i < len(o.own.ops.all) {
		if next := slices.IndexFunc(o.own.ops.all[i:], isAcquire); next >= 0 {
			by = max(b.To, o.own.ops.all[i+next].inv)
		}
	}
	from, _ = t.grantOnServers(b)
	if owed, known := t.owedUntil(b, by); known {
		to = owed
	} else if owed, since, found := t.owedFromBefore(b, o); found {
		from, to = since, owed
	} else {
		to = t.latestEnd(b, b.To)
	}
	if to == never || to <= from {
		return 0, 0
	}
	return from, to
}

// owedUntil is until when a belief was owed its hold, and whether the servers' log says
// so too. Without it the time is the least, by the client's own operations.
func (t *trace) owedUntil(b *Belief, by int64) (owed int64, byLog bool) {
	owed, byLog = t.owedByServers(b, by)
	return max(owed, t.owedByClient(b, by)), byLog
}

// grantOnServers is when a hold was on enough servers, and whether the server log shows
// that. Without the log it is when the client got the reply. A hold that was handed to the
// owner, and ended before it came for it, is an earlier one.
func (t *trace) grantOnServers(c *Belief) (int64, bool) {
	o := t.op(c.AcquireOp)
	grants := make([]*change, 0, fewServers) // one of each group
	when := o.ret
	for _, s := range o.own.changes.between(o.inv, o.ret) {
		sameGroup := func(g *change) bool { return g.group == s.group }
		switch {
		case s.takesBack(o):
			grants = slices.DeleteFunc(grants, sameGroup)
		case s.holder == c.Owner && s.grants() && s.command():
			if i := slices.IndexFunc(grants, sameGroup); i >= 0 {
				if grants[i].Node != s.Node && o.own.anyHeld(s.t, s.t, func(h *span) bool { return h.node == grants[i].Node && h.from <= grants[i].t }) {
					continue // both servers let it have the lock
				}
				grants = slices.Delete(grants, i, i+1)
			}
			if grants = append(grants, s); len(grants) == t.claims.Quorum {
				when = s.t
			}
		}
	}
	if len(grants) < t.claims.Quorum {
		return o.ret, false
	}
	return when, true
}

// owedByServers is until when a quorum of servers owed a belief its hold, by its last
// grant or renewal on each of them. It looks at changes before a time. A server that
// later lost the hold or was replaced still owes it: the client was promised it. It owes
// none that the acquire took back before it returned, or an inner one reported as lost.
func (t *trace) owedByServers(c *Belief, by int64) (int64, bool) {
	type promise struct {
		node, group string
		until       int64
	}
	o := t.op(c.AcquireOp)
	owed := make([]promise, 0, fewServers) // the latest of each server
	for _, s := range o.own.changes.between(o.inv, by-1) {
		switch {
		case s.takesBack(o):
			owed = slices.DeleteFunc(owed, func(p promise) bool { return p.node == s.Node })
		case s.command() && (s.holder == c.Owner || s.holder == "" && s.was == c.Owner && s.By == c.Client && o.own.ops.last(s.t, isAcquire).failed(history.ErrLost)):
			i := slices.IndexFunc(owed, func(p promise) bool { return p.node == s.Node })
			if i < 0 {
				i = len(owed)
				owed = append(owed, promise{})
			}
			owed[i] = promise{s.Node, s.group, s.expires()}
		}
	}
	slices.SortFunc(owed, func(a, b promise) int { return cmp.Compare(b.until, a.until) })
	groups := make([]string, 0, fewServers)
	for _, p := range owed {
		if slices.Contains(groups, p.group) {
			continue // it has promised more on another server
		}
		if groups = append(groups, p.group); len(groups) == t.claims.Quorum {
			return p.until, true
		}
	}
	return 0, false
}

// fewServers is the initial capacity of lists of servers, enough for most locks.
const fewServers = 8

// owedByClient is the least time until which a belief was owed its hold. Each of its
// returned and unreleased acquires promised one lease, counted from a time after its
// invocation.
func (t *trace) owedByClient(c *Belief, by int64) int64 {
	var held []int64
	inv := t.op(c.AcquireOp).inv
	steps := t.steps(ownerLock{c.Owner, c.Lock})
	for _, s := range steps[sort.Search(len(steps), func(i int) bool { return steps[i].t >= inv }):] {
		if s.t >= by && (!s.ret || s.o.id != c.AcquireOp) { // its own grant may be of the same instant
			break
		}
		if s.o == nil || s.o.inv < inv {
			continue
		}
		switch {
		case s.ret && s.o.granted():
			end := int64(0)
			lease := t.leaseOf(s.o)
			short := t.claims.Fairness && t.neverWhole(s.o) > 0 // the servers say for how long it was handed on
			if !short && (lease != never || !t.claims.Lease) {
				end = plus(s.o.inv, lease)
			}
			held = append(held, end)
		case s.o.f == history.Release && !s.ret && len(held) > 0:
			held = held[:len(held)-1]
		}
	}
	var end int64
	for _, h := range held {
		end = max(end, h)
	}
	if len(held) == 0 {
		return end
	}
	for _, x := range t.op(c.AcquireOp).own.extensionsFrom(inv) {
		if x.kind == history.OK && x.ret < by {
			end = max(end, plus(x.inv, x.args.Lease))
		}
	}
	return end
}

// latestEnd is the latest end of a belief's lease without a renewal; never if that
// is unknown.
func (t *trace) latestEnd(c *Belief, by int64) int64 {
	var longest, last int64
	own, inv := t.op(c.AcquireOp).own, t.op(c.AcquireOp).inv
	for _, o := range own.ops.all[own.ops.from(inv):] {
		if o.inv >= by {
			break
		}
		if o.f == history.Inspect {
			continue
		}
		if o.args.Renewed || (o.f == history.Acquire && t.leaseOf(o) == never) {
			return never
		}
		longest, last = max(longest, o.args.Lease), max(last, min(o.ret, by))
	}
	for _, x := range own.extensionsFrom(inv) {
		if x.inv < by && x.mayHaveWorked() {
			longest, last = max(longest, x.args.Lease), max(last, min(x.ret, by))
		}
	}
	return plus(last, longest)
}

// onServer is the longest lease that a server may keep for a requested one, in the
// units that the lock declares.
func (t *trace) onServer(lease int64) int64 {
	if u := t.claims.LeaseUnit; u > 0 {
		lease = (lease + u - 1) / u * u
	}
	return max(lease, t.claims.LeaseMin) + t.claims.LeaseSlack
}

// owedFromBefore returns until when, and since when, a server owes the hold of a belief.
// It does so if the server had the hold before the request and kept it unchanged. A hold
// that is renewed promises no lease of its own.
func (t *trace) owedFromBefore(c *Belief, o *op) (owed, since int64, found bool) {
	if t.claims.Nodes > 1 || c.Renewed || c.Lease == 0 || o.res.Count > 1 || t.clockMoved(o.ret) {
		return 0, 0, false
	}
	if len(o.own.changes.between(o.inv, o.ret)) > 0 {
		return 0, 0, false
	}
	for _, s := range slices.Backward(o.own.changes.between(0, o.inv-1)) {
		switch {
		case s.Role != "primary":
		case s.Cause != "command" || s.holder != c.Owner || t.replaced(s.group, o.ret):
			return 0, 0, false
		default:
			return s.expires(), s.t, s.expires() > o.ret
		}
	}
	return 0, 0, false
}
