package linear

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// judge decides whether the operations of one lock could have happened on the sequential
// lock of model.go. It returns OutcomeOK, Violated, or Unknown when the budget ran out.
// Several judges may stand behind this type; they must agree.
type judge func(ops []Op, r Rules, budget time.Duration) Outcome

// Porcupine is the general judge: exact, quick on legal histories, and
// sometimes out of budget on illegal ones.
func Porcupine(ops []Op, r Rules, budget time.Duration) Outcome {
	return porcupineWithin(ops, r, budget, nil)
}

// porcupineOps is the number of operations porcupine is asked about at once. It remembers
// a set of all operations for every step, so its memory grows with the square of their
// number. So many take a quarter of porcupineMemory when all goes well.
const porcupineOps = 20_000

// porcupineMemory is about how many bytes porcupine may remember.
const porcupineMemory = 256 << 20

// confirmMemory is the same for a lock with room that the fast judge has decided. Such a
// lock has many states, so what takes more would take the whole of confirmBudget.
const confirmMemory = 8 << 20

// frugalPorcupine is Porcupine in bounded memory: it says Unknown when that
// is spent, and of more than porcupineOps operations.
func frugalPorcupine(ops []Op, r Rules, budget time.Duration) Outcome {
	if len(ops) > porcupineOps {
		return Unknown
	}
	m := newMemory(len(ops))
	if r.confirms && r.Capacity > 1 {
		m.left = confirmMemory
	}
	return porcupineWithin(ops, r, budget, m)
}

func porcupineWithin(ops []Op, r Rules, budget time.Duration, m *memory) Outcome {
	if budget <= 0 {
		return Unknown
	}
	switch porcupine.CheckOperationsTimeout(r.porcupine(m), operations(ops), budget) {
	case porcupine.Ok:
		return OutcomeOK
	case porcupine.Illegal:
		if m == nil || !m.spent.Load() {
			return Violated
		}
	}
	return Unknown
}

// memory is the rest of what porcupine may remember. Once it is spent no step is
// possible any more, which ends the search, and what it says then means nothing.
type memory struct {
	left, step int // bytes; step is for one that succeeds
	spent      atomic.Bool
}

func newMemory(ops int) *memory { return &memory{left: porcupineMemory, step: ops/8 + 200} }

// takeStep reports whether there is room for one more step, to some states. No memory
// at all is one without bounds.
func (m *memory) takeStep(states int) bool {
	if m == nil {
		return true
	}
	if m.left -= m.step + 100*states; m.left < 0 {
		m.spent.Store(true)
	}
	return m.left >= 0
}

func operations(ops []Op) []porcupine.Operation {
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		out[i] = porcupine.Operation{ClientId: int(o.Owner - 1), Input: o, Call: o.Call, Return: o.Return}
	}
	return out
}

// porcupine wraps the model. A state of porcupine's is the set of states the
// lock may be in, because an operation with unknown outcome leaves several.
func (r Rules) porcupine(m *memory) porcupine.Model {
	if r.Capacity > 1 {
		return r.porcupineRooms(m)
	}
	return porcupine.Model{
		Init: func() any { return []lockState{{}} },
		Step: func(state, input, _ any) (bool, any) {
			var next []lockState
			for _, s := range state.([]lockState) {
				next = r.step(next, s, input.(*Op))
			}
			next = distinct(next)
			return len(next) > 0 && m.takeStep(len(next)), next
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
		DescribeOperation: func(input, _ any) string { return input.(*Op).describe(r.Owners) },
		DescribeState:     func(state any) string { return describeStates(state.([]lockState), r.Owners) },
	}
}

// porcupineRooms is porcupine for a lock that has room for several holds.
func (r Rules) porcupineRooms(m *memory) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return roomsOf([]room{{}}) },
		Step: func(state, input, _ any) (bool, any) {
			var next []room
			for _, s := range state.(rooms).all {
				next = r.enter(next, s, input.(*Op))
			}
			x := roomsOf(next)
			return len(x.all) > 0 && m.takeStep(len(x.all)), x
		},
		Equal:             func(a, b any) bool { return a.(rooms).key == b.(rooms).key },
		Hash:              func(state any) uint64 { return maphash.String(roomSeed, state.(rooms).key) },
		DescribeOperation: func(input, _ any) string { return input.(*Op).describe(r.Owners) },
		DescribeState:     func(state any) string { return state.(rooms).describe(r.Owners) },
	}
}

// roomSeed changes no result: porcupine compares states of one hash.
var roomSeed = maphash.MakeSeed()

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

// covers reports whether whatever may follow o may follow s.
func (s *lockState) covers(o *lockState) bool {
	return s.holder == o.holder && s.count == o.count && s.extra >= o.extra && (s.renewed || !o.renewed) &&
		s.now <= o.now && s.endLo <= o.endLo && s.endHi >= o.endHi && s.ahead >= o.ahead &&
		s.base <= o.base && s.longest >= o.longest && s.giveUp <= o.giveUp &&
		s.exact == o.exact && (s.token == o.token || s.token < o.token && !s.exact)
}
