package linear

import (
	"fmt"
	"slices"
	"time"
)

// Choice says which of the judges decide.
type Choice string

// The choices of judges. The empty string means [Both].
const (
	Both          Choice = "both"      // the fast one decides, porcupine confirms
	FastOnly      Choice = "fast"      // the one made for locks
	PorcupineOnly Choice = "porcupine" // the general one
)

// Decision is the common decision of the judges that were asked.
type Decision struct {
	Ruling
	Note string // who decided, where it was not both
}

// The words of a verdict when only one of two judges decided.
const (
	byFastAlone      = "decided by the fast judge alone: porcupine ran out of time or memory"
	byPorcupineAlone = "decided by porcupine alone: the fast judge ran out of time or memory"
)

// find says where operations that a judge found illegal became so.
func (d *Decision) find(ops []Op, r Rules, j judge, deadline time.Time) {
	if d.Outcome == Violated && !d.settled {
		d.At = firstIllegal(ops, r, j, deadline)
	}
}

// confirmBudget is the time for which porcupine may look at what the fast judge decided. It
// looks at all operations, and at the cause of what is illegal.
const confirmBudget = 2 * time.Second

// Judges decide on the locks of one history.
type Judges struct {
	// Fast is the function [Fast]. A test of a disagreement replaces it.
	Fast func(ops []Op, r Rules, budget time.Duration) Ruling

	choice    Choice
	porcupine judge
	deadline  time.Time
}

// NewJudges returns judges that share one budget, which begins to run now.
func NewJudges(choice Choice, budget time.Duration) *Judges {
	return &Judges{Fast: Fast, choice: choice, porcupine: frugalPorcupine, deadline: time.Now().Add(budget)}
}

func (j *Judges) left() time.Duration { return time.Until(j.deadline) }

func (j *Judges) byFast(ops []Op, r Rules, budget time.Duration) Outcome {
	return j.Fast(ops, r, budget).Outcome
}

// Decide judges the operations of one lock.
func (j *Judges) Decide(ops []Op, r Rules) (Decision, *DisagreementError) {
	switch j.choice {
	case FastOnly:
		d := Decision{Ruling: j.Fast(ops, r, j.left())}
		d.find(ops, r, j.byFast, j.deadline)
		return d, nil
	case PorcupineOnly:
		return j.alone(ops, r), nil
	}
	d := Decision{Ruling: j.Fast(ops, r, j.left()/4)}
	r.confirms = d.Outcome != Unknown
	if d.Outcome == Violated {
		return j.confirmIllegal(d, ops, r)
	}
	look, part := ops, ""
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
		part = fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(look), len(ops))
	}
	patience := j.left() / 2 // the rest is for the next decision
	if d.Outcome == OutcomeOK {
		patience = min(patience, confirmBudget)
	}
	switch p := j.porcupine(look, r, patience); {
	case p == Violated && d.Outcome == OutcomeOK:
		return d, j.dispute(look, r, d, p)
	case p == Violated:
		d = Decision{Ruling: Ruling{Outcome: p}, Note: byPorcupineAlone}
		d.find(look, r, j.porcupine, j.deadline)
	case p == Unknown && d.Outcome == OutcomeOK:
		d.Note = byFastAlone + part
	case d.Outcome == OutcomeOK && part != "":
		d.Note = "decided by the fast judge" + part
	case p == OutcomeOK && part == "" && d.Outcome == Unknown:
		d = Decision{Ruling: Ruling{Outcome: p}, Note: byPorcupineAlone}
	}
	return d, nil
}

// alone has porcupine decide. An illegal beginning makes the whole illegal.
func (j *Judges) alone(ops []Op, r Rules) Decision {
	look := ops
	if len(ops) > porcupineOps {
		look = beginning(ops, porcupineOps)
	}
	d := Decision{Ruling: Ruling{Outcome: j.porcupine(look, r, j.left())}}
	d.find(look, r, j.porcupine, j.deadline)
	switch {
	case d.Outcome == OutcomeOK && len(look) < len(ops):
		d.Ruling = undecided(fmt.Sprintf("porcupine takes %d operations at once, and those are in order; the lock has %d", porcupineOps, len(ops)))
	case d.Outcome == Unknown:
		d.Why = "porcupine ran out of time or memory"
	}
	return d
}

// confirmIllegal shows porcupine a history that the fast judge called illegal. It always
// shows the few operations that prove it. It shows all up to the return that nothing
// allows, unless they are too many or too hard.
func (j *Judges) confirmIllegal(d Decision, ops []Op, r Rules) (Decision, *DisagreementError) {
	d.find(ops, r, j.byFast, j.deadline)
	look := prefix(ops, d.At)
	cause := slices.Clone(d.Ops)
	for i := range look {
		if look[i].Return == d.At {
			cause = append(cause, look[i].ID)
		}
	}
	few := causeSlice(look, r, cause, j.byFast)
	switch p := j.porcupine(few, r, confirmBudget); {
	case p == OutcomeOK:
		return d, j.dispute(few, r, d, p)
	case p == Unknown:
		d.Note = byFastAlone
	}
	if p := j.porcupine(look, r, min(j.left(), confirmBudget)); p == OutcomeOK {
		return d, j.dispute(look, r, d, p)
	}
	return d, nil
}

// beginning has what had happened when the first n operations had been called,
// or a little less: it has at most n operations.
func beginning(ops []Op, n int) []Op {
	calls := make([]int64, len(ops))
	for i := range ops {
		calls[i] = ops[i].Call
	}
	slices.Sort(calls)
	return prefix(ops, calls[n]-1)
}

// Differ reports whether the judges quickly come to different ends.
func (j *Judges) Differ(ops []Op, r Rules) bool {
	f, p := j.byFast(ops, r, time.Second/4), j.porcupine(ops, r, time.Second/4)
	return f != Unknown && p != Unknown && f != p
}

// dispute finds the smallest history on which the judges disagree.
func (j *Judges) dispute(ops []Op, r Rules, d Decision, p Outcome) *DisagreementError {
	few := minimal(ops, func(ops []Op) bool { return j.Differ(ops, r) })
	return &DisagreementError{Fast: d.Outcome, Porcupine: p, Ops: d.Ops, Why: d.Why, Listing: lines(few, r.Owners), Minimal: written(few)}
}
