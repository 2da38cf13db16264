package linear

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The search goes through the history in order of time and keeps every possible situation
// of the lock. A situation is the model's state, and the open operations that have taken
// effect. An operation takes effect no earlier than it must: right before some operation
// returns, together with what has to come before that one. Every order of the operations
// can be grouped so, which makes the search exact. Three things keep the situations few:
//
//   - A refusal that is right as things stand, and leaves the state as it is,
//     takes effect at once: in any continuation it can be moved to the front.
//   - Of two situations with equal known operations done, one is dropped when
//     the other's state allows as much and it has used no other operation of
//     unknown outcome: those may still happen at the end, where they change
//     nothing that anyone sees.
//   - Unknown operations of one owner and kind, with the same lease, differ only
//     in their call, and the oldest is used first. So only a few of each kind
//     are kept open; the others wait until one of these has taken effect in
//     every situation. See parking.

// maxSituations bounds the memory of a search: the situations before one return.
const maxSituations = 1_000_000

type search struct {
	r        Rules
	timeless bool // no hold ends by itself: the state needs no time
	ops      [64 * openWords]*Op
	open     opSet // slots in use
	parking  parking
	optional opSet // of them, those that may never take effect
	eager    opSet // of them, refusals
	now      []situation
	width    int  // how many situations are kept from one return to the next; 0 for all
	narrowed bool // some were not
	reached  frontier
	out      []situation // reused
	scratch  []lockState
	settling []lockState
	took     map[int32]*Op     // latest acquire of each owner that may have taken the lock
	tokens   map[uint64]uint64 // the one before each; nil when unknown
	left     []int32           // operations of each owner still to come; nil when unknown
	returned int
	steps    int
	limit    time.Time // zero for none
}

// newSearch starts with the free lock. Without leases, holds last for ever.
func newSearch(r Rules, limit time.Time) *search {
	return &search{
		r: r, timeless: true, now: []situation{{}}, limit: limit, parking: parking{room: keptOpen},
		took: map[int32]*Op{},
	}
}

// Search is the exact step of the fast judge. It says Unknown when the
// budget ends or too much is open at once.
func Search(ops []Op, r Rules, budget time.Duration) Ruling {
	limit := time.Now().Add(budget)
	ops = strays(ops, r)
	tokens := tokenOrder(ops)
	for _, width := range witnessWidths {
		if byWitness(ops, r, tokens, width, limit.Add(-budget/2)) {
			return good()
		}
	}
	return byAll(ops, r, tokens, limit)
}

// byAll keeps every situation.
func byAll(ops []Op, r Rules, tokens map[uint64]uint64, limit time.Time) Ruling {
	for room := keptOpen; ; room *= 2 {
		s := newSearch(r, limit)
		s.parking.room, s.tokens = room, tokens
		if v := s.followAll(ops); v.Outcome != Unknown || !s.parking.missed || room > 64*openWords {
			return v
		}
	}
}

func (s *search) followAll(ops []Op) Ruling {
	type event struct {
		t  int64
		op int32 // calls are i, returns ^i
	}
	events := make([]event, 0, 2*len(ops))
	for i := range ops {
		o := &ops[i]
		for int(o.Owner) >= len(s.left) {
			s.left = append(s.left, 0)
		}
		s.left[o.Owner]++
		acquires := o.Kind == GotLock || o.Kind == MaybeGot || o.Kind == TookAndGave
		if o.Kind == TookAndGave || acquires && o.Lease < Forever {
			s.timeless = false
		}
		events = append(events, event{o.Call, int32(i)})
		if o.Return < Forever {
			events = append(events, event{o.Return, ^int32(i)})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.t, b.t); c != 0 {
			return c
		}
		switch {
		case a.op >= 0 && b.op < 0:
			return -1
		case a.op < 0 && b.op >= 0:
			return 1
		}
		return 0
	})
	slots := make([]int16, len(ops))
	for _, e := range events {
		if e.op >= 0 {
			slot := s.openOp(&ops[e.op])
			if slot < 0 {
				return undecided(tooMany, &ops[e.op])
			}
			slots[e.op] = int16(slot)
			continue
		}
		o := &ops[^e.op]
		before := s.now
		switch s.returnOp(int(slots[^e.op])) {
		case Unknown:
			return s.gaveUp(o)
		case Violated:
			return s.explainStuck(o, before)
		}
	}
	return good()
}

// gaveUp explains that the search stopped before its end.
func (s *search) gaveUp(o *Op) Ruling {
	if s.parking.missed {
		return undecided("more operations of unknown outcome than the search can keep apart", o)
	}
	return undecided("the search ran out of budget", o)
}

const tooMany = "too many operations are open at once"

// openOp opens an operation and returns its slot, -1 when there is none.
func (s *search) openOp(o *Op) int {
	if o.Kind == GotLock || o.Kind == MaybeGot {
		s.took[o.Owner] = o
	}
	if s.left != nil {
		s.left[o.Owner]--
	}
	if o.unclear() && !s.parking.admitOp(o) {
		return parked
	}
	return s.putOp(o)
}

// putOp gives an operation a slot, -1 when there is none.
func (s *search) putOp(o *Op) int {
	slot := s.open.unused()
	if slot < 0 {
		return slot
	}
	s.ops[slot] = o
	s.open.add(slot)
	if o.unclear() {
		s.parking.lanes[like(o)].open.add(slot)
	}
	switch o.Kind {
	case MaybeGot, TookAndGave:
		s.optional.add(slot)
	case MaybeGave:
		if o.Return >= Forever {
			s.optional.add(slot)
		}
	case FoundBusy, Inspected:
		s.eager.add(slot)
	case HeldNothing:
		// On several servers it may also free the lock.
		if !s.r.Loose {
			s.eager.add(slot)
		}
	case FoundLost:
		// With leases, too.
		if s.timeless && !s.r.Loose {
			s.eager.add(slot)
		}
	}
	if s.eager.has(slot) {
		for i := range s.now {
			s.settleRefusals(&s.now[i])
		}
	}
	return slot
}

func (s *search) removeOp(slot int) {
	s.open.remove(slot)
	s.optional.remove(slot)
	s.eager.remove(slot)
	s.ops[slot] = nil
}

// returnOp lets the operation in a slot return: situations in which it can have
// taken effect by now remain.
func (s *search) returnOp(slot int) Outcome {
	last, mandatory := s.ops[slot], !s.optional.has(slot)
	out := s.out[:0]
	s.reached.resetHeads(s.knownOps())
	for _, c := range s.now {
		s.noteSituation(c)
	}
	for i := 0; i < len(s.reached.all); i++ {
		c := s.reached.all[i]
		if c.done.has(slot) {
			out = append(out, c)
			continue
		}
		if !mandatory {
			out = append(out, c) // what did nothing needs no place
		}
		if s.width > 0 && (len(out) > s.width*witnessSpread || i > s.width*witnessSpread*witnessSpread) {
			s.narrowed = true
			break
		}
		if i > maxSituations || s.steps&1023 < 32 && !s.limit.IsZero() && time.Now().After(s.limit) {
			return Unknown
		}
		next := s.stepState(c.state, last)
		for _, n := range next {
			d := situation{n, c.done}
			d.done.add(slot)
			s.settleRefusals(&d)
			out = append(out, d)
		}
		direct := s.width > 0 && len(next) > 0 // a witness needs no more than that
		for w := range s.open {
			for left := s.open[w] &^ c.done[w]; left != 0; left &= left - 1 {
				k := w*64 + bits.TrailingZeros64(left)
				if direct && s.ops[k].unclear() {
					s.narrowed = true
					continue
				}
				if k != slot && s.isUseful(k, &c) {
					s.useOp(k, &c)
				}
			}
		}
	}
	for i := range out {
		out[i].done.remove(slot)
	}
	s.removeOp(slot)
	s.out = out
	if len(out) == 0 {
		if s.parking.missed || s.narrowed {
			return Unknown
		}
		return Violated
	}
	s.now = essential(s.now[:0], out, s.knownOps())
	s.dropWorst()
	s.admitParked()
	return OutcomeOK
}

func (s *search) knownOps() (known opSet) {
	for i := range known {
		known[i] = s.open[i] &^ s.optional[i]
	}
	return known
}

func (s *search) useOp(slot int, c *situation) {
	for _, n := range s.stepState(c.state, s.ops[slot]) {
		if n == c.state && s.optional.has(slot) {
			continue // as good as not used
		}
		d := situation{n, c.done}
		d.done.add(slot)
		s.noteSituation(d)
	}
}

// noteSituation notes a situation that the lock may be in before an operation returns.
func (s *search) noteSituation(c situation) {
	s.settleRefusals(&c)
	s.parking.noteWanted(&c)
	s.reached.addSituation(c)
}

// explainStuck explains that nothing allows an operation to return as it did. It names
// the operation, and the latest acquires of those who may have held the lock.
func (s *search) explainStuck(o *Op, before []situation) Ruling {
	cause, held := []*Op{o}, ""
	for i := range before {
		took := s.took[before[i].state.holder]
		if took == nil || took == o || slices.Contains(cause, took) {
			continue
		}
		if cause = append(cause, took); len(cause) == MaxCause {
			break
		}
		held += fmt.Sprintf("; %s, called at %s", took.describe(s.r.Owners), history.At(took.Call))
	}
	return contradiction(cause, "no order of the operations allows this at %s: %s%s", history.At(o.Return), o.describe(s.r.Owners), held)
}
