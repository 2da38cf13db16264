package checker

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// judge decides whether the operations of one lock could have happened on the
// sequential lock of model.go: Good, Violated, or Unknown when the budget ran
// out. Several judges may stand behind this type; they must agree.
type judge func(ops []lockOp, r rules, budget time.Duration) Outcome

// byPorcupine is the general judge: exact, quick on legal histories, and
// sometimes out of budget on illegal ones.
func byPorcupine(ops []lockOp, r rules, budget time.Duration) Outcome {
	if budget <= 0 {
		return Unknown
	}
	switch porcupine.CheckOperationsTimeout(r.porcupine(nil), operations(ops), budget) {
	case porcupine.Ok:
		return Good
	case porcupine.Illegal:
		return Violated
	}
	return Unknown
}

func operations(ops []lockOp) []porcupine.Operation {
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		out[i] = porcupine.Operation{ClientId: int(o.owner - 1), Input: o, Call: o.call, Return: o.ret}
	}
	return out
}

// porcupine wraps the model. A state of porcupine's is the set of states the
// lock may be in, because an operation with unknown outcome leaves several.
func (r rules) porcupine(name func(int32) string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []lockState{{}} },
		Step: func(state, input, _ any) (bool, any) {
			var next []lockState
			for _, s := range state.([]lockState) {
				next = r.step(next, s, input.(*lockOp))
			}
			next = distinct(next)
			return len(next) > 0, next
		},
		Equal: func(a, b any) bool {
			x, y := a.([]lockState), b.([]lockState)
			if len(x) != len(y) {
				return false
			}
			for _, s := range x {
				if !slices.Contains(y, s) {
					return false
				}
			}
			return true
		},
		Hash: func(state any) uint64 {
			var h uint64
			for _, s := range state.([]lockState) {
				h ^= s.hash()
			}
			return h
		},
		DescribeOperation: func(input, _ any) string { return input.(*lockOp).describe() },
		DescribeState:     func(state any) string { return describeStates(state.([]lockState), name) },
	}
}

// distinct removes, in place, repetitions and states that allow nothing which
// another does not allow as well.
func distinct(states []lockState) []lockState {
	out := states[:0]
next:
	for _, s := range states {
		for _, o := range out {
			if o.covers(&s) {
				continue next
			}
		}
		kept := out[:0]
		for _, o := range out {
			if !s.covers(&o) {
				kept = append(kept, o)
			}
		}
		out = append(kept, s)
	}
	return out
}

// covers says that whatever may follow o may follow s.
func (s *lockState) covers(o *lockState) bool {
	return s.holder == o.holder && s.count == o.count && s.extra >= o.extra && (s.renewed || !o.renewed) &&
		s.now <= o.now && s.endLo <= o.endLo && s.endHi >= o.endHi && s.ahead >= o.ahead &&
		s.base <= o.base && s.longest >= o.longest && s.giveUp <= o.giveUp &&
		s.exact == o.exact && (s.token == o.token || s.token < o.token && !s.exact)
}
