package checker

import (
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// This file is about extensions: operations that give the innermost hold of an owner
// a later end. They are no operations of the sequential lock, because they change
// neither its holder nor its count.

// mayHaveWorked reports whether an extension may have had its effect. One that fails does
// not, unless its owner lost the hold by the clock before it heard of the effect. Careful
// owners call a hold lost in the last quarter of its lease.
func (o *op) mayHaveWorked() bool {
	if o.res.Error != history.ErrLost {
		return o.kind != history.Fail
	}
	grant := o.own.ops.last(o.inv, (*op).granted)
	return grant != nil && o.ret >= plus(grant.inv, grant.args.Lease/4*3)
}

func (a *account) extensionsFrom(when int64) []*op {
	return a.extensions[sort.Search(len(a.extensions), func(i int) bool { return a.extensions[i].inv >= when }):]
}

// nextExtension is when the owner asks for an extension after an operation, or never.
func (o *op) nextExtension() int64 {
	if later := o.own.extensionsFrom(o.inv); len(later) > 0 {
		return later[0].inv
	}
	return never
}

// mayBeExtended reports whether an extension, or a nested acquire without a grant, may
// have made the hold of an acquire last longer.
func (o *op) mayBeExtended() bool {
	if next := o.next(); next != nil && next.f == history.Acquire && !next.granted() && (next.args.Renewed || next.args.Lease > o.args.Lease) {
		return true
	}
	later := o.own.extensionsFrom(o.inv)
	if len(later) == 0 || !later[0].mayHaveWorked() {
		return false
	}
	own := &o.own.ops
	for _, x := range own.all[own.latest(o.inv)+1:] {
		if x.inv > later[0].inv {
			break
		}
		if x.granted() && x.res.Count <= 1 {
			return false // it is about a later hold
		}
	}
	return true
}

// judgeExtension checks that a successful extension has given the hold the lease that
// it names, on the servers, and that there was a hold.
func (j leaseJudge) judgeExtension(o *op) Verdict {
	if o.f != history.Extend || o.kind != history.OK {
		return j.judgeFailedExtension(o)
	}
	c := j.beliefAt(ownerLock{o.owner, o.lock}, o.inv)
	if c == nil {
		return violation(o.ret, opIDs(o), "the extend of %s succeeded at %s; its owner held nothing", o.owner, at(o.ret))
	}
	grants := func(x *change) bool { return x.grants() && x.holder == o.owner && j.commandOf(x, o) }
	if j.claims.Nodes == 1 && slices.ContainsFunc(o.own.changes.between(o.inv, o.ret), grants) {
		return byServers(violation(o.ret, opIDs(j.op(c.AcquireOp), o), "the extend of %s succeeded at %s and took the lock anew; no server held it for that owner any more", o.owner, at(o.ret)))
	}
	owed, known := j.owedByServers(c, o.ret)
	if !known || j.clockMoved(o.ret) {
		return Verdict{Outcome: OutcomeOK}
	}
	if until := o.res.Until; until > plus(owed, j.allow.rounding) {
		return byServers(violation(o.ret, opIDs(j.op(c.AcquireOp), o), "the extend of %s succeeded at %s with a validity until %s; the servers owe the hold until %s",
			o.owner, at(o.ret), at(until), at(owed)))
	}
	if plus(owed, 2*j.allow.rounding) >= plus(o.inv, o.args.Lease) {
		return Verdict{Outcome: OutcomeOK}
	}
	return byServers(violation(o.ret, opIDs(j.op(c.AcquireOp), o), "the extend of %s succeeded at %s for %s; the servers owe the hold until %s only",
		o.owner, at(o.ret), long(o.args.Lease), at(owed)))
}

// judgeFailedExtension checks that a lock names no later end after an extension that failed,
// unless the servers owe the hold for so long. Its user believes it.
func (j leaseJudge) judgeFailedExtension(o *op) Verdict {
	c := j.beliefAt(ownerLock{o.owner, o.lock}, o.inv)
	if o.f != history.Extend || o.res.Until == 0 || c == nil || j.clockMoved(o.ret) {
		return Verdict{Outcome: OutcomeOK}
	}
	owed, known := j.owedByServers(c, o.ret)
	if !known || o.res.Until <= plus(owed, j.allow.rounding) {
		return Verdict{Outcome: OutcomeOK}
	}
	return byServers(violation(o.ret, opIDs(j.op(c.AcquireOp), o), "the extend of %s failed at %s, and the lock names a validity until %s; the servers owe the hold until %s",
		o.owner, at(o.ret), at(o.res.Until), at(owed)))
}

// followExtension follows an extension of the owner, of the innermost of its holds.
func (w *leaseWalk) followExtension(c *change) {
	if len(w.holds) == 0 || !c.raises() || c.By != w.client[w.owner] {
		return
	}
	for _, x := range w.accountOf(w.ownerLock).extensionsFrom(w.holds[0].o.inv) {
		if x.inv <= c.t && c.t <= x.ret && x.mayHaveWorked() {
			h := &w.holds[len(w.holds)-1]
			h.extended.set(c.group, min(c.expires(), c.t+x.args.Lease))
		}
	}
}

// longestExtension is the longest lease that an extension of the owner has asked for
// between two times.
func (a *account) longestExtension(from, by int64) int64 {
	longest := int64(0)
	for _, x := range a.extensionsFrom(from) {
		if x.inv <= by {
			longest = max(longest, x.args.Lease)
		}
	}
	return longest
}

// extending reports whether the request of an extension may have reached a server at a
// time.
func (w *leaseWalk) extending(when int64) bool {
	return slices.ContainsFunc(w.accountOf(w.ownerLock).extensions, func(x *op) bool { return x.inv <= when && (when <= x.ret || x.unclear()) })
}
