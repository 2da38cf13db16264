package checker

import (
	"fmt"
	"slices"
	"time"
)

// The fast judge answers the same question as porcupine, about the same
// model, in steps. The first reads the holds off the replies, puts them in
// the one order they can have and looks for what does not fit: near-linear,
// and enough for most histories. When owners go on after operations of unknown
// outcome, it looks at two histories that have none: one that is legal only if
// the given one is, and one that is illegal only if the given one is. What
// is then still open goes to a search over the open operations, which is exact
// and has a budget.
//
// It decides or it says Unknown; it never guesses.

// ruling is an answer with its reason.
type ruling struct {
	outcome Outcome
	ops     []int64 // what proves it, or what keeps it open; at most maxCause
	why     string  // one line; empty when Good
}

// byFast is the fast judge.
func byFast(ops []lockOp, r rules, budget time.Duration) Outcome {
	return fastRuling(ops, r, budget).outcome
}

func fastRuling(ops []lockOp, r rules, budget time.Duration) ruling {
	if v := byReplies(ops, r); v.outcome != Unknown {
		return v
	}
	return bySearch(ops, r, budget)
}

// byReplies is the near-linear part of the fast judge.
func byReplies(ops []lockOp, r rules) ruling {
	v := bySessions(ops, r)
	if v.outcome != Unknown || r.loose {
		return v
	}
	ops = sorted(ops)
	undo := guess(ops, r)
	likely := bySessions(ops, r)
	undo()
	if likely.outcome == Good {
		return good()
	}
	if w := bySessions(certain(ops, r), r); w.outcome == Violated {
		return w
	}
	return v
}

// sorted is the operations by call: a copy, unless they are so already.
func sorted(ops []lockOp) []lockOp {
	for i := 1; i < len(ops); i++ {
		if ops[i].call < ops[i-1].call {
			ops = slices.Clone(ops)
			slices.SortStableFunc(ops, byCall)
			break
		}
	}
	return ops
}

func good() ruling { return ruling{outcome: Good} }

// undecided is the ruling of a step that leaves the question to the next.
func undecided(why string, ops ...*lockOp) ruling {
	return ruling{outcome: Unknown, ops: idsOf(ops...), why: why}
}

func contradiction(ops []*lockOp, format string, args ...any) ruling {
	return ruling{outcome: Violated, ops: idsOf(ops...), why: fmt.Sprintf(format, args...)}
}

// idsOf lists at most maxCause ids, without nil and repetitions.
func idsOf(ops ...*lockOp) []int64 {
	var ids []int64
next:
	for _, o := range ops {
		if o == nil || len(ids) == maxCause {
			continue
		}
		for _, id := range ids {
			if id == o.id {
				continue next
			}
		}
		ids = append(ids, o.id)
	}
	return ids
}
