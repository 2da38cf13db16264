package linear

import (
	"cmp"
	"slices"
	"time"
)

// The fast judge answers the same question as porcupine, about the same model, in steps.
// The first reads the holds off the replies, puts them in the one order they can have and
// looks for misfits. It is near-linear, and enough for most histories. When owners go on
// after operations of unknown outcome, it looks at two histories that have none. One is
// legal only if the given one is, and the other is illegal only if the given one is. A
// history that is still open goes to a search over the open operations, which is exact
// and has a budget.
//
// It decides or it says Unknown; it never guesses.

// Fast is the fast judge.
func Fast(ops []Op, r Rules, budget time.Duration) Ruling {
	if r.Capacity > 1 {
		return byRooms(ops, r, budget)
	}
	if v := byReplies(ops, r); v.Outcome != Unknown {
		return v
	}
	return Search(ops, r, budget)
}

// byReplies is the near-linear part of the fast judge.
func byReplies(ops []Op, r Rules) Ruling {
	v := bySessions(ops, r)
	if v.Outcome != Unknown || r.Loose {
		return v
	}
	ops = sorted(ops)
	undo := guess(ops, r)
	likely := bySessions(ops, r)
	undo()
	if likely.Outcome == OutcomeOK {
		return good()
	}
	if w := bySessions(certain(ops, r), r); w.Outcome == Violated {
		return w
	}
	return v
}

// sorted is the operations by call: a copy, unless they are so already.
func sorted(ops []Op) []Op {
	for i := 1; i < len(ops); i++ {
		if ops[i].Call < ops[i-1].Call {
			return inOrder(ops)
		}
	}
	return ops
}

// inOrder is a copy of the operations by call. Those of one call keep their order.
func inOrder(ops []Op) []Op {
	type call struct {
		t int64
		i int32
	}
	calls := make([]call, len(ops))
	for i := range ops {
		calls[i] = call{ops[i].Call, int32(i)}
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.i, b.i)) })
	out := make([]Op, len(ops))
	for i, c := range calls {
		out[i] = ops[c.i]
	}
	return out
}
