package checker

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Linearizable: Every outcome is possible for a single lock that serves one request at a time.
const Linearizable Property = "linearizable"

var linearizableProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Linearizable, Promise: "Every outcome is possible for a single lock that serves one request at a time.",
		Broken: "the answers are such as no lock could give",
	},
	harm:  always(wrongAnswer),
	judge: func(t *trace, o Options) (Verdict, error) { return linearizableJudge{t}.judge(o) },
}

type linearizableJudge struct{ *trace }

// judge decides for every lock name whether the operations are possible one at a time on
// the sequential lock of package linear. The clients' view comes first. If it allows an
// order, but not with the operations at the instants of the server log, the verdict is
// violated by the server log. The error is a [*linear.DisagreementError].
func (j linearizableJudge) judge(o Options) (Verdict, error) {
	judges := linear.NewJudges(linear.Choice(o.Judges), o.Budget)
	if o.fast != nil {
		judges.Fast = o.fast
	}
	verdict := Verdict{Outcome: OutcomeOK}
	for _, lock := range j.locks {
		ops, byLog := j.lockOps(lock)
		v, err := j.orderOf(lock, ops, byLog, judges, o)
		if err != nil {
			return v, err
		}
		if v.Outcome == Violated {
			if v, err = j.excuseViolation(lock, ops, v, judges, o); err != nil {
				return v, err
			}
		}
		if v.Faulty() {
			return v, nil
		}
		if v.Outcome == Violated || verdict.Outcome == OutcomeOK {
			verdict = v
		}
	}
	return verdict, nil
}

// orderOf decides whether the operations on one lock have an order.
func (j linearizableJudge) orderOf(lock string, ops []linear.Op, byLog bool, judges *linear.Judges, o Options) (Verdict, error) {
	r := j.rules()
	d, dispute := judges.Decide(ops, r)
	if dispute != nil {
		return disputed(d), j.writeDown(dispute, lock, judges)
	}
	if d.Outcome == Violated {
		v := noted(j.explainIllegal(ops, d.At), d)
		if byLog {
			v = byServers(v)
		}
		return v, nil
	}
	if pinned := j.pinToLog(ops); pinned != nil { // fewer orders: it may decide what the clients' view leaves open
		p, dispute := judges.Decide(pinned, r)
		if dispute != nil {
			return byServers(disputed(p)), j.writeDown(dispute, lock, judges)
		}
		switch p.Outcome {
		case Violated:
			return byServers(noted(j.explainIllegal(pinned, p.At), p)), nil
		case Unknown:
			return byServers(undecidable(p, o)), nil
		}
		if d.Outcome == Unknown {
			d, byLog = p, true
		}
	} else if d.Outcome == Unknown {
		return undecidable(d, o), nil
	}
	v := noted(Verdict{Outcome: OutcomeOK}, d)
	if byLog {
		v = byServers(v)
	}
	return v, nil
}

func (j linearizableJudge) rules() linear.Rules { return rulesOf(j.claims, &j.who) }

// explainIllegal explains why operations are not linearizable: it names the last
// operation of the shortest illegal prefix, and those that it contradicts.
func (j linearizableJudge) explainIllegal(ops []linear.Op, at int64) Verdict {
	var last *op
	for i := range ops {
		if ops[i].Return == at {
			last = j.op(ops[i].ID)
		}
	}
	if last == nil { // cannot be: pending operations alone are always legal
		return violation(0, nil, "the operations contradict each other")
	}
	return j.explainOp(last)
}

// explainOp names the operations that the last one of the shortest illegal prefix
// contradicts: the latest hold of another owner and of its own.
func (j linearizableJudge) explainOp(o *op) Verdict {
	var other, own, otherEnd *op
	for _, c := range j.beliefs {
		if c.Lock != o.lock || c.AcquireOp == o.id || c.From > o.ret {
			continue
		}
		if a := j.op(c.AcquireOp); c.Owner == o.owner {
			own = a
		} else if other == nil || a.ret >= other.ret {
			other, otherEnd = a, j.op(c.EndOp)
		}
	}
	cause := opIDs(o, other, otherEnd, own)
	v := func(format string, args ...any) Verdict { return violation(o.ret, cause, format, args...) }
	switch {
	case o.granted() && other != nil:
		held := fmt.Sprintf("%s had taken it at %s", other.owner, at(other.ret))
		if otherEnd != nil {
			return v("%s was granted the lock at %s; no order of the operations allows that: %s and let go from %s on",
				o.owner, at(o.ret), held, at(otherEnd.inv))
		}
		return v("%s was granted the lock at %s; no order of the operations allows that: %s and was not seen to let go",
			o.owner, at(o.ret), held)
	case o.granted():
		return v("%s was granted the lock at %s with count %d, which no order of the operations allows", o.owner, at(o.ret), o.res.Count)
	case o.f == history.Acquire && o.failed(history.ErrLost):
		return v("the acquire of %s failed at %s, while the lease of its hold still ran: it reported a loss", o.owner, at(o.ret))
	case o.f == history.Acquire:
		return v("%s was refused the lock as busy at %s%s since its request at %s", o.owner, at(o.ret), cmp.Or(j.hadRoom(o, o.inv, o.ret), "; nobody else can have held it at any time"), at(o.inv))
	case o.f == history.Release && o.kind == history.OK:
		left := ""
		if j.claims.Reentrant || o.res.Count > 0 {
			left = fmt.Sprintf(" with %s left", english.Count(o.res.Count, "hold"))
		}
		switch {
		case own == nil:
			return v("%s released the lock at %s%s; no order of the operations allows that: it was not seen to take it before", o.owner, at(o.ret), left)
		case other != nil && other.ret > own.ret:
			return v("%s released the lock at %s%s; no order of the operations allows that: it had taken it at %s, and %s had taken it since, at %s",
				o.owner, at(o.ret), left, at(own.ret), other.owner, at(other.ret))
		case !own.args.Renewed && plus(own.ret, j.leaseOf(own)) <= o.inv:
			return v("%s released the lock at %s%s; no order of the operations allows that: it had taken it at %s with a lease of %s, which was over",
				o.owner, at(o.ret), left, at(own.ret), long(j.leaseOf(own)))
		}
		return v("%s released the lock at %s%s, which no order of the operations allows: it had taken it at %s", o.owner, at(o.ret), left, at(own.ret))
	case o.f == history.Release && own != nil:
		still := "although nothing had ended its hold"
		if j.leaseOf(own) != never {
			still = "while its lease still ran"
		}
		return v("the release of %s failed at %s, %s: it reported %s, and its owner had taken the lock at %s",
			o.owner, at(o.ret), still, o.res.Error, at(own.ret))
	case o.f == history.Release:
		return v("the release of %s failed at %s: it reported %s, which no order of the operations allows", o.owner, at(o.ret), o.res.Error)
	}
	return v("%s saw %d holds at %s, which no order of the operations allows", o.owner, o.res.Count, at(o.ret))
}

// noted adds to a verdict the judge that decided it, unless both did.
func noted(v Verdict, d linear.Decision) Verdict {
	switch {
	case d.Note == "" || strings.Contains(v.Reason, d.Note):
	case v.Reason == "":
		v.Reason = d.Note
	default:
		v.Reason += " (" + d.Note + ")"
	}
	return v
}

func disputed(d linear.Decision) Verdict {
	return Verdict{Outcome: Unknown, Ops: d.Ops, Reason: "the judges disagree, which is a defect of the checker"}
}

func undecidable(d linear.Decision, o Options) Verdict {
	who := "the judges"
	switch linear.Choice(o.Judges) {
	case linear.FastOnly:
		who = "the fast judge"
	case linear.PorcupineOnly:
		who = "porcupine"
	}
	return Verdict{Outcome: Unknown, Ops: d.Ops, Reason: fmt.Sprintf("%s did not decide: %s; the budget was %s", who, d.Why, o.Budget)}
}

// writeDown completes a disagreement about one lock of a history.
func (j linearizableJudge) writeDown(e *linear.DisagreementError, lock string, judges *linear.Judges) error {
	e.Lock = lock
	if e.Minimal == nil {
		return e
	}
	h := &j.h.Header
	e.Minimal.Header = history.Header{
		Format: history.Format, Scenario: h.Scenario, Lock: h.Lock, World: h.World, Seed: h.Seed, Version: h.Version, Claims: h.Claims,
	}
	e.Minimal.Header.Claims.Lease = true // by what every acquire asked for
	if e.Minimal.Validate() != nil {
		e.Minimal = nil
		return e
	}
	again := linearizableJudge{newTrace(e.Minimal)}
	for _, l := range again.locks {
		if ops, _ := again.lockOps(l); !judges.Differ(ops, again.rules()) {
			e.Minimal = nil
		}
	}
	return e
}
