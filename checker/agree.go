package checker

import (
	"fmt"
	"slices"
	"time"
)

// Choice says which judges decide on linearizability.
type Choice string

// The choices of judges. The empty string means [BothJudges].
const (
	BothJudges    Choice = "both"      // the fast one decides, porcupine confirms
	FastOnly      Choice = "fast"      // the one made for locks
	PorcupineOnly Choice = "porcupine" // the general one
)

// decision is what the judges that were asked decided together.
type decision struct {
	ruling
	note string // who decided, where it was not both
}

// What a verdict says when only one of two judges decided.
const (
	byFastAlone      = "decided by the fast judge alone: porcupine ran out of time or memory"
	byPorcupineAlone = "decided by porcupine alone: the fast judge ran out of time or memory"
)

// find says where operations that a judge found illegal became so.
func (d *decision) find(ops []lockOp, r rules, j judge, deadline time.Time) {
	if d.outcome == Violated {
		d.at = firstIllegal(ops, r, j, deadline)
	}
}

// confirmBudget is how long porcupine may look at what the fast judge called
// illegal: once at the cause, and once at all that came before.
const confirmBudget = 2 * time.Second

// court has the judges of linearizability decide on one history, within a
// budget that begins when they are appointed.
type court struct {
	choice    Choice
	fast      func([]lockOp, rules, time.Duration) ruling // tests put another judge here
	porcupine judge
	deadline  time.Time
}

// newCourt appoints judges. The budget is for everything they are asked.
func newCourt(choice Choice, budget time.Duration) *court {
	return &court{choice, fastRuling, frugalPorcupine, time.Now().Add(budget)}
}

func (c *court) left() time.Duration { return time.Until(c.deadline) }

func (c *court) byFast(ops []lockOp, r rules, budget time.Duration) Outcome {
	return c.fast(ops, r, budget).outcome
}

// decide asks about the operations of one lock.
func (c *court) decide(ops []lockOp, r rules) (decision, *DisagreementError) {
	switch c.choice {
	case FastOnly:
		d := decision{ruling: c.fast(ops, r, c.left())}
		d.find(ops, r, c.byFast, c.deadline)
		return d, nil
	case PorcupineOnly:
		return c.alone(ops, r), nil
	}
	d := decision{ruling: c.fast(ops, r, c.left()/4)}
	if d.outcome == Violated {
		return c.confirmIllegal(d, ops, r)
	}
	look, part := ops, ""
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
		part = fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(look), len(ops))
	}
	switch p := c.porcupine(look, r, c.left()); {
	case p == Violated && d.outcome == Good:
		return d, c.dispute(look, r, d, p)
	case p == Violated:
		d = decision{ruling: ruling{outcome: p}, note: byPorcupineAlone}
		d.find(look, r, c.porcupine, c.deadline)
	case p == Unknown && d.outcome == Good:
		d.note = byFastAlone + part
	case d.outcome == Good && part != "":
		d.note = "decided by the fast judge" + part
	case p == Good && part == "" && d.outcome == Unknown:
		d = decision{ruling: ruling{outcome: p}, note: byPorcupineAlone}
	}
	return d, nil
}

// alone has porcupine decide. An illegal beginning makes the whole illegal.
func (c *court) alone(ops []lockOp, r rules) decision {
	look := ops
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
	}
	d := decision{ruling: ruling{outcome: c.porcupine(look, r, c.left())}}
	d.find(look, r, c.porcupine, c.deadline)
	switch {
	case d.outcome == Good && len(look) < len(ops):
		d.ruling = undecided(fmt.Sprintf("porcupine takes %d operations at once, and those are in order; the lock has %d", porcupineOps, len(ops)))
	case d.outcome == Unknown:
		d.why = "porcupine ran out of time or memory"
	}
	return d
}

// confirmIllegal shows porcupine what the fast judge called illegal: always
// the few operations that prove it, and all up to the return that nothing
// allows, unless they are too many or too hard for it.
func (c *court) confirmIllegal(d decision, ops []lockOp, r rules) (decision, *DisagreementError) {
	d.find(ops, r, c.byFast, c.deadline)
	look := prefix(ops, d.at)
	cause := slices.Clone(d.ops)
	for i := range look {
		if look[i].ret == d.at {
			cause = append(cause, look[i].id)
		}
	}
	few := causeSlice(look, r, cause, c.byFast)
	switch p := c.porcupine(few, r, confirmBudget); {
	case p == Good:
		return d, c.dispute(few, r, d, p)
	case p == Unknown:
		d.note = byFastAlone
	}
	if p := c.porcupine(look, r, min(c.left(), confirmBudget)); p == Good {
		return d, c.dispute(look, r, d, p)
	}
	return d, nil
}

// beginning is what had happened when the first n operations had been called,
// or a little less: it has at most n operations.
func beginning(ops []lockOp, n int) []lockOp {
	calls := make([]int64, len(ops))
	for i := range ops {
		calls[i] = ops[i].call
	}
	slices.Sort(calls)
	return prefix(ops, calls[n]-1)
}

// differ says whether the judges quickly come to different ends.
func (c *court) differ(ops []lockOp, r rules) bool {
	f, p := c.byFast(ops, r, time.Second/4), c.porcupine(ops, r, time.Second/4)
	return f != Unknown && p != Unknown && f != p
}

// dispute finds the smallest history on which the judges disagree.
func (c *court) dispute(ops []lockOp, r rules, d decision, p Outcome) *DisagreementError {
	few := minimal(ops, func(ops []lockOp) bool { return c.differ(ops, r) })
	return &DisagreementError{Fast: d.outcome, Porcupine: p, Ops: d.ops, Why: d.why, Listing: lines(few, r.who), Minimal: written(few)}
}
