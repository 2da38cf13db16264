package checker

import (
	"fmt"
	"time"
)

// DisagreementError says that the two judges of linearizability decided
// differently about the same operations. One of them is wrong: it is a defect
// of this package, never a word on the lock.
type DisagreementError struct {
	Lock            string
	Fast, Porcupine Outcome
	Ops             []int64 // at most five of what the illegal finding rests on
	Why             string  // the fast judge's reason, in one line
}

func (e *DisagreementError) Error() string {
	s := fmt.Sprintf("the judges disagree on lock %q: fast says %s, porcupine %s", e.Lock, e.Fast, e.Porcupine)
	if len(e.Ops) > 0 {
		s += fmt.Sprintf(", operations %v", e.Ops)
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// decision is what the two judges decided together, and which one to ask on.
type decision struct {
	ruling
	by judge
}

// disputed is the verdict while the judges disagree.
func (d decision) disputed() Verdict {
	return Verdict{Outcome: Unknown, Ops: d.ops, Reason: "the judges disagree, which is a defect of the checker"}
}

// confirmBudget is how long porcupine may look at the illegal prefix that the
// fast judge found.
const confirmBudget = 2 * time.Second

// byBoth has both judges look at the operations of one lock. What the fast
// one decides stands, unless porcupine decides otherwise within the budget.
// An illegal history is shown to porcupine only up to the return that the fast
// judge takes exception to, because on illegal ones porcupine is slow.
func byBoth(lock string, ops []lockOp, r rules, deadline time.Time) (decision, error) {
	left := time.Until(deadline)
	d := decision{fastRuling(ops, r, left/4), byFast}
	look := ops
	left = time.Until(deadline)
	if d.outcome == Violated {
		if by, ok := firstIllegal(ops, r, byFast, deadline); ok {
			look = prefix(ops, by)
		}
		left = min(time.Until(deadline), confirmBudget)
	}
	return agree(lock, d, byPorcupine(look, r, left))
}

// agree puts the two answers together: whoever decides is right, unless both
// do and differ.
func agree(lock string, fast decision, p Outcome) (decision, error) {
	switch {
	case p == Unknown || p == fast.outcome:
		return fast, nil
	case fast.outcome == Unknown:
		return decision{ruling{outcome: p}, byPorcupine}, nil
	}
	return fast, &DisagreementError{Lock: lock, Fast: fast.outcome, Porcupine: p, Ops: fast.ops, Why: fast.why}
}
