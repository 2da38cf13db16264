package checker

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Lease: The server never keeps a hold shorter than the lease owed, longer than asked, or for ever.
const Lease Property = "lease"

var leaseProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Lease, Promise: "The server never keeps a hold shorter than the lease owed, longer than asked, or for ever.",
		Broken: "the lease on the server is not the one asked for",
	},
	harm:    always(wrongAnswer),
	claimed: func(h *history.Header) bool { return h.Claims.Lease && !h.Unwatched },
	judge:   byServerLog(func(t *trace) Verdict { return leaseJudge{t}.judge() }),
}

type leaseJudge struct{ *trace }

// judge checks the TTL that each command leaves in the server log. It may not be
// endless, longer than requested, or shorter than the lease still owed. No hold may
// expire early. A lock on several servers may lose some of them to expiry while a
// quorum keeps the hold.
func (j leaseJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, k := range j.owners {
		v = earlier(v, j.judgeOwner(k))
	}
	for i := range j.beliefs {
		v = earlier(v, j.judgeGrant(&j.beliefs[i]))
	}
	for _, o := range j.ops {
		v = earlier(v, j.judgeExtension(o))
	}
	return v
}

// handedOn finds the acquire of a waiting owner that a change granted. The change is a
// command of another client. If the lock grants in the order of arrival, it may be one
// of the owner's client, which maintains the places of all its owners. It is nil if the
// owner took the lock.
func (t *trace) handedOn(k ownerLock, c *change) *op {
	client, ok := t.client[k.owner]
	toItself := t.claims.Fairness && c.By == client && c.holder == k.owner && c.was == k.owner
	if !ok || c.By == "" || !c.grants() && !toItself {
		return nil
	}
	o := t.grantOf(k.owner, k.lock, c.t)
	if o == nil || o.inv >= c.t || o.ret < c.t {
		return nil
	}
	if toItself {
		return t.handedToItself(c, o)
	}
	if c.By != client {
		return o
	}
	if !t.claims.Fairness {
		return nil
	}
	others := t.accountOf(ownerLock{"", k.lock})
	if o.followsUnclearAcquire() || others.anyHeld(o.inv+1, c.t, func(s *span) bool { return (s.holder != k.owner || s.from < o.inv) && s.from < c.t }) {
		return o
	}
	return nil // it did not wait
}

// handedToItself is a waiting acquire to which its client handed the lock, as it took back
// an earlier acquire of the same owner. No answer had come to that one, and the servers
// show one holder all the time.
func (t *trace) handedToItself(c *change, o *op) *op {
	if c.Count != c.WasCount || c.TTL >= c.WasTTL || !o.followsUnclearAcquire() {
		return nil
	}
	return o
}

// handed reports whether another owner handed the hold of a span to its holder.
func (t *trace) handed(s *span) bool {
	own := t.accountOf(ownerLock{s.holder, s.lock})
	return slices.ContainsFunc(own.changes.between(s.from, s.from), func(c *change) bool { return c.Node == s.node && t.handsOver(c) })
}

// handsOver reports whether a change was a grant to another owner than the one that asked
// for it.
func (t *trace) handsOver(c *change) bool {
	if !c.command() || !c.grants() {
		return false
	}
	asked := t.openOpOf(c.By, c.lock, c.t)
	return c.By != t.client[c.holder] || asked != nil && asked.owner != c.holder
}

// judgeHandedOn checks that an owner renews in time a hold that was handed on with less
// than its lease. No other owner can renew it. Faults may block the renewal.
func (j leaseJudge) judgeHandedOn(c *change, o *op) Verdict {
	if o.kind != history.OK || c.TTL >= o.args.Lease-2*j.allow.rounding {
		return Verdict{Outcome: OutcomeOK}
	}
	until := min(j.endTime, j.closing.at(o.client), j.crashed.at(o.client), c.expires())
	for _, r := range o.own.ops.all {
		if r.f == history.Release && r.inv >= o.ret {
			until = min(until, r.inv)
			break
		}
	}
	for _, d := range o.own.changes.from(c.t + 1) {
		if d.Node == c.Node || d.command() {
			if d.ends() || d.raises() || d.grants() {
				until = min(until, d.t)
				break
			}
		}
	}
	disturbed := j.disturbance(c.t, until, touches(o.client))
	if late := until - o.ret - disturbed; late <= j.renewalSlack(o.client, c.t) {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(c.t, opIDs(o), "%s handed the lock to %s on %s at %s for %s; its owner knew at %s and asked for no more by %s, a lease is %s",
		c.By, o.owner, c.Node, at(c.t), long(c.TTL), at(o.ret), at(until), long(o.args.Lease))
}

// neverWhole is the time that a server left to a hold at its hand-on. It is 0 if that
// was the whole lease, or if the owner got the answer to a renewal while it had the
// hold. A fault may have kept the answer to a renewal that arrived. Then an acquire of
// unknown outcome holds for as long as that renewal left. But the grant of a hold
// without renewal is the answer to the request that made it whole.
func (t *trace) neverWhole(o *op) (left int64) {
	until, handed := o.nextInv(), int64(0)
	if next := o.next(); next != nil && next.f == history.Release && next.kind == history.OK {
		return 0 // it lasted until then
	}
	for _, c := range o.own.changes.from(o.inv) {
		switch {
		case left > 0 && o.kind == history.OK && c.t <= o.ret && c.Role == "primary" && c.was == o.owner && c.ends():
			left = 0 // its owner had not heard of that one, and waited on
		case c.t >= until || left > 0 && c.Role == "primary" && c.was == o.owner && c.ends():
			return left
		case c.Role != "primary":
		case left > 0 && c.raises():
			if heard := o.kind == history.OK && !o.args.Renewed && c.t <= o.ret; heard || !t.disturbedAround(o.client, c.t) {
				return 0
			}
			if o.unclear() { // the server alone counts its time
				left = max(left, c.expires()-handed)
			}
		case c.command() && c.TTL > 0 && c.TTL < o.args.Lease-2*t.allow.rounding && t.mayBeFor(c, o):
			left, handed = c.TTL, c.t
		}
	}
	return left
}

// mayBeFor reports whether a change handed the lock to an acquire. One without an
// answer may get it later, as long as its place lasts.
func (t *trace) mayBeFor(c *change, o *op) bool {
	if o.kind == history.OK || c.t <= o.ret {
		return c.t <= o.ret && t.handedOn(ownerLock{o.owner, o.lock}, c) == o
	}
	return o.unclear() && c.grants() && c.By != "" && c.By != o.client
}

// judgeGrant checks that a grant returns while the servers still owe the hold, and
// states no longer validity. Without a validity, the lease counts from the request. A
// process that was stopped meanwhile has an excuse.
func (j leaseJudge) judgeGrant(c *Belief) Verdict {
	o := j.op(c.AcquireOp)
	stopped := j.overlap(o.inv, o.ret, 0, stops(c.Client)) > 0
	if !j.claims.Lease || stopped {
		return Verdict{Outcome: OutcomeOK}
	}
	until := o.res.Until
	if until != 0 && until <= o.ret {
		return violation(o.ret, opIDs(o), "%s was granted the lock at %s; the validity that the grant names was over at %s", c.Owner, at(o.ret), at(until))
	}
	promised := plus(o.inv, c.Lease)
	if until != 0 {
		promised = until
	}
	if owed, _, found := j.owedFromBefore(c, o); found && plus(owed, 2*j.allow.rounding) < promised {
		return byServers(violation(o.ret, opIDs(o), "%s was granted the lock at %s for %s; the server had its hold from before, and owes it until %s only",
			c.Owner, at(o.ret), long(promised-o.ret), at(owed)))
	}
	owed, known := j.owedByServers(c, o.ret)
	if !known || j.clockMoved(o.ret) {
		return Verdict{Outcome: OutcomeOK}
	}
	if plus(owed, j.allow.rounding) <= o.ret {
		return byServers(violation(o.ret, opIDs(o), "%s was granted the lock at %s; the lease had ended on the servers at %s", c.Owner, at(o.ret), at(owed)))
	}
	if until > plus(owed, j.allow.rounding) {
		return byServers(violation(o.ret, opIDs(o), "%s was granted the lock at %s with a validity until %s; the servers owe the hold until %s",
			c.Owner, at(o.ret), at(until), at(owed)))
	}
	if j.claims.Drift != nil && until > owed-j.driftOf(c.Lease)+2*j.allow.rounding {
		return byServers(violation(o.ret, opIDs(o),
			"%s was granted the lock at %s with a validity until %s; the servers owe the hold until %s, and their clocks may run ahead by %s until then",
			c.Owner, at(o.ret), at(until), at(owed), long(j.driftOf(c.Lease))))
	}
	return Verdict{Outcome: OutcomeOK}
}
