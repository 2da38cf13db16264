package linear

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

// Decision is what the judges that were asked decided together.
type Decision struct {
	Ruling
	Note string // who decided, where it was not both
}

// What a verdict says when only one of two judges decided.
const (
	byFastAlone      = "decided by the fast judge alone: porcupine ran out of time or memory"
	byPorcupineAlone = "decided by porcupine alone: the fast judge ran out of time or memory"
)

// find says where operations that a judge found illegal became so.
func (d *Decision) find(ops []Op, r Rules, j judge, deadline time.Time) {
	if d.Outcome == Violated {
		d.At = firstIllegal(ops, r, j, deadline)
	}
}

// confirmBudget is how long porcupine may look at what the fast judge called
// illegal: once at the cause, and once at all that came before.
const confirmBudget = 2 * time.Second

// court has the judges of linearizability decide on one history, within a
// budget that begins when they are appointed.
type Judges struct {
	choice    Choice
	Fast      func([]Op, Rules, time.Duration) Ruling // tests put another judge here
	porcupine judge
	deadline  time.Time
}

// newCourt appoints judges. The budget is for everything they are asked.
func NewJudges(choice Choice, budget time.Duration) *Judges {
	return &Judges{choice, Fast, frugalPorcupine, time.Now().Add(budget)}
}

func (c *Judges) left() time.Duration { return time.Until(c.deadline) }

func (c *Judges) byFast(ops []Op, r Rules, budget time.Duration) Outcome {
	return c.Fast(ops, r, budget).Outcome
}

// Decide asks about the operations of one lock.
func (c *Judges) Decide(ops []Op, r Rules) (Decision, *DisagreementError) {
	switch c.choice {
	case FastOnly:
		d := Decision{Ruling: c.Fast(ops, r, c.left())}
		d.find(ops, r, c.byFast, c.deadline)
		return d, nil
	case PorcupineOnly:
		return c.alone(ops, r), nil
	}
	d := Decision{Ruling: c.Fast(ops, r, c.left()/4)}
	if d.Outcome == Violated {
		return c.confirmIllegal(d, ops, r)
	}
	look, part := ops, ""
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
		part = fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(look), len(ops))
	}
	switch p := c.porcupine(look, r, c.left()); {
	case p == Violated && d.Outcome == Good:
		return d, c.dispute(look, r, d, p)
	case p == Violated:
		d = Decision{Ruling: Ruling{Outcome: p}, Note: byPorcupineAlone}
		d.find(look, r, c.porcupine, c.deadline)
	case p == Unknown && d.Outcome == Good:
		d.Note = byFastAlone + part
	case d.Outcome == Good && part != "":
		d.Note = "decided by the fast judge" + part
	case p == Good && part == "" && d.Outcome == Unknown:
		d = Decision{Ruling: Ruling{Outcome: p}, Note: byPorcupineAlone}
	}
	return d, nil
}

// alone has porcupine decide. An illegal beginning makes the whole illegal.
func (c *Judges) alone(ops []Op, r Rules) Decision {
	look := ops
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
	}
	d := Decision{Ruling: Ruling{Outcome: c.porcupine(look, r, c.left())}}
	d.find(look, r, c.porcupine, c.deadline)
	switch {
	case d.Outcome == Good && len(look) < len(ops):
		d.Ruling = undecided(fmt.Sprintf("porcupine takes %d operations at once, and those are in order; the lock has %d", porcupineOps, len(ops)))
	case d.Outcome == Unknown:
		d.Why = "porcupine ran out of time or memory"
	}
	return d
}

// confirmIllegal shows porcupine what the fast judge called illegal: always
// the few operations that prove it, and all up to the return that nothing
// allows, unless they are too many or too hard for it.
func (c *Judges) confirmIllegal(d Decision, ops []Op, r Rules) (Decision, *DisagreementError) {
	d.find(ops, r, c.byFast, c.deadline)
	look := prefix(ops, d.At)
	cause := slices.Clone(d.Ops)
	for i := range look {
		if look[i].Return == d.At {
			cause = append(cause, look[i].ID)
		}
	}
	few := causeSlice(look, r, cause, c.byFast)
	switch p := c.porcupine(few, r, confirmBudget); {
	case p == Good:
		return d, c.dispute(few, r, d, p)
	case p == Unknown:
		d.Note = byFastAlone
	}
	if p := c.porcupine(look, r, min(c.left(), confirmBudget)); p == Good {
		return d, c.dispute(look, r, d, p)
	}
	return d, nil
}

// beginning is what had happened when the first n operations had been called,
// or a little less: it has at most n operations.
func beginning(ops []Op, n int) []Op {
	calls := make([]int64, len(ops))
	for i := range ops {
		calls[i] = ops[i].Call
	}
	slices.Sort(calls)
	return prefix(ops, calls[n]-1)
}

// Differ says whether the judges quickly come to different ends.
func (c *Judges) Differ(ops []Op, r Rules) bool {
	f, p := c.byFast(ops, r, time.Second/4), c.porcupine(ops, r, time.Second/4)
	return f != Unknown && p != Unknown && f != p
}

// dispute finds the smallest history on which the judges disagree.
func (c *Judges) dispute(ops []Op, r Rules, d Decision, p Outcome) *DisagreementError {
	few := minimal(ops, func(ops []Op) bool { return c.Differ(ops, r) })
	return &DisagreementError{Fast: d.Outcome, Porcupine: p, Ops: d.Ops, Why: d.Why, Listing: lines(few, r.Owners), Minimal: written(few)}
}
