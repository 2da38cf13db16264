package checker

import (
	"github.com/holdfast-go/holdfast/checker/history"
)

// Observation: An observer gets the name of the owner that holds the lock at that time.
const Observation Property = "observation"

var observationProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Observation, Promise: "An observer gets the name of the owner that holds the lock at that time.",
		Broken: "the lock names a holder who does not hold it",
	},
	harm:    always(wrongAnswer),
	claimed: func(h *history.Header) bool { return h.Claims.Observes },
	judge:   plainly(func(t *trace) Verdict { return observationJudge{t}.judge() }),
}

type observationJudge struct{ *trace }

// judge checks every answer to the question who holds the lock.
func (j observationJudge) judge() Verdict {
	v, asked := Verdict{Outcome: OutcomeOK}, false
	for _, o := range j.ops {
		if o.f != history.Observe || o.kind != history.OK {
			continue
		}
		asked = true
		if o.res.Holder == "" {
			v = earlier(v, j.judgeFree(o))
		} else {
			v = earlier(v, j.judgeNamed(o))
		}
	}
	if !asked {
		return Verdict{Outcome: Unknown, Reason: "no question who holds the lock was answered"}
	}
	return v
}

// judgeNamed checks that the named owner had the lock at some time between question and
// answer. Without a server log, the operations of the owner say so.
func (j observationJudge) judgeNamed(o *op) Verdict {
	k := ownerLock{o.res.Holder, o.lock}
	end, last := j.endBefore(k, o)
	if end >= o.inv && end > 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	v := violation(o.ret, opIDs(o), "%s was told at %s that %s holds the lock; it had never had it", o.owner, at(o.ret), k.owner)
	if j.client[k.owner] == "" {
		v = violation(o.ret, opIDs(o), "%s was told at %s that %q holds the lock, and no owner has that name", o.owner, at(o.ret), k.owner)
	}
	if end > 0 {
		v = violation(o.ret, opIDs(last, o), "%s was told at %s that %s holds the lock; it had not had it since %s", o.owner, at(o.ret), k.owner, at(end))
	}
	if len(j.changes) > 0 {
		return byServers(v)
	}
	return v
}

// endBefore is the latest time by the answer at which an owner may have had the lock, with
// the acquire that took it; 0 and nil for none.
func (j observationJudge) endBefore(k ownerLock, o *op) (end int64, last *op) {
	last = j.accountOf(k).ops.last(o.ret, isAcquire)
	if len(j.changes) > 0 {
		for s := range j.accountOf(k).heldAt(0, o.ret) {
			if !s.replica || j.replaced(s.group, o.ret) {
				end = max(end, min(s.to, o.ret))
			}
		}
		return end, last
	}
	for _, a := range j.accountOf(k).ops.all {
		if a.inv <= o.ret && isAcquire(a) && a.unclear() {
			return o.ret, a
		}
	}
	for i := range j.beliefs {
		b := &j.beliefs[i]
		if b.Owner != k.owner || b.Lock != k.lock || j.op(b.AcquireOp).inv > o.ret {
			continue
		}
		until := int64(never)
		if release := j.op(b.EndOp); release != nil && release.f == history.Release && release.kind == history.OK {
			until = release.ret
		} else if _, to := j.leaseOnServers(b); to > 0 {
			until = to
		}
		end = max(end, min(until, o.ret))
	}
	return end, last
}

// judgeFree checks an answer without a holder: no owner had the lock all the time between
// question and answer. A server that took the place of another may have lost the hold.
func (j observationJudge) judgeFree(o *op) Verdict {
	for _, f := range j.faults {
		if f.from <= o.ret && (f.Promotes || f.LosesWrites || len(j.changes) == 0) {
			return Verdict{Outcome: OutcomeOK}
		}
	}
	told := func(holder string, since int64) Verdict {
		return violation(o.ret, opIDs(o), "%s was told at %s that nobody holds the lock; %s had had it since %s", o.owner, at(o.ret), holder, at(since))
	}
	for s := range j.accountOf(ownerLock{"", o.lock}).heldAt(o.inv, o.ret) {
		if s.from < o.inv && s.to > o.ret && !s.replica && j.claims.Nodes == 1 {
			return byServers(told(s.holder, s.from))
		}
	}
	for i := range j.beliefs {
		if b := &j.beliefs[i]; len(j.changes) == 0 && b.Lock == o.lock && b.From < o.inv && b.To > o.ret {
			return told(b.Owner, b.From)
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
