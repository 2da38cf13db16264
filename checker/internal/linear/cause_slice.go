package linear

import (
	"slices"
	"sort"
	"time"
)

// A cause slice is a small part of an illegal history that is illegal itself. Leaving out
// just any operation may make a legal history illegal: without a release the lock stays
// taken. So a slice leaves out only operations that a legal history can do without:
//
//   - The operations of an owner come in units. A unit begins with an acquire
//     that returned count 1, which took effect on the free lock: no hold goes
//     on from one unit into the next. So every hold, from the free lock back to
//     the free lock, is about operations of one unit and those of unknown
//     outcome. Leave out a unit, keep the unknown operations, and in any order
//     that was legal its holds are times in which the lock is free and the
//     unknown operations in them did nothing. The free lock allows whatever
//     others did meanwhile, but for being refused as busy.
//   - An owner that is refused, or asks for its count, changes nothing: that
//     operation can go by itself. Where it counts on several servers, asking
//     is answered by what others hold too, and always goes.
//   - An owner without any unit kept can go altogether, with its operations of
//     unknown outcome, for the same reason as a unit.
//   - So only a refusal that is kept needs an owner that held the lock: then
//     every unit stays that may have held it during the refusal, and every
//     operation of unknown outcome that was called by then.
//
// Hence a slice that is illegal proves that the history is.
type slicer struct {
	ops   []Op // up to the return that nothing allows
	r     Rules
	unit  []int32 // of each operation; noUnit for one that belongs to none
	units []unit
}

type unit struct {
	owner    int32
	from, to int64 // it holds the lock within this time, if at all
}

const noUnit = -1

func newSlicer(ops []Op, r Rules) *slicer {
	s := &slicer{ops: ops, r: r, unit: make([]int32, len(ops))}
	current := map[int32]int32{} // owner -> its unit
	over := map[int32]int64{}    // owner -> when all it did so far, and is known, had returned
	for i := range ops {
		o := &ops[i]
		if o.Kind == FoundBusy || o.Kind == TookAndGave {
			s.unit[i] = noUnit
			continue
		}
		u, ok := current[o.Owner]
		// Operations that touch in time may have happened in either order.
		if !ok || o.Kind == GotLock && o.Count == 1 && o.Call > over[o.Owner] {
			if ok {
				s.units[u].to = min(s.units[u].to, o.Return)
			}
			u = int32(len(s.units))
			s.units, current[o.Owner] = append(s.units, unit{o.Owner, o.Call, Forever}), u
		}
		s.unit[i] = u
		if o.Kind != MaybeGot && o.Kind != MaybeGave {
			over[o.Owner] = max(over[o.Owner], o.Return)
		}
		switch {
		case o.Kind == GaveBack && o.Count == 0 && !r.Loose:
			s.units[u].to = o.Return
		case o.Kind != Inspected:
			s.units[u].to = Forever
		}
	}
	return s
}

// selection has what a slice keeps: units, and by their index refusals and inspections.
type selection struct {
	units map[int32]bool
	alone map[int]bool
}

func (s *slicer) buildSlice(c selection) []Op {
	units, owners := map[int32]bool{}, map[int32]bool{}
	for u := range c.units {
		units[u] = true
	}
	// All refusals at once: a little more than they need is kept.
	from, to := Forever, longPast
	for i := range c.alone {
		switch o := &s.ops[i]; o.Kind {
		case FoundBusy:
			from, to = min(from, o.Call), max(to, o.Return)
		case Inspected:
			units[s.unit[i]] = true
		}
	}
	for u := range s.units {
		if x := &s.units[u]; x.from <= to && x.to >= from {
			units[int32(u)] = true
		}
	}
	for u := range units {
		owners[s.units[u].owner] = true
	}
	var out []Op
	for i := range s.ops {
		o := &s.ops[i]
		keep := false
		switch o.Kind {
		case FoundBusy, Inspected:
			keep = c.alone[i]
		case TookAndGave:
			keep = owners[o.Owner] || o.Call <= to && o.Return >= from
		case MaybeGot, MaybeGave:
			keep = owners[o.Owner] || o.Call <= to
		default:
			keep = units[s.unit[i]]
		}
		if keep {
			out = append(out, *o)
		}
	}
	return out
}

// causeSlice finds a small illegal part of an illegal history. It takes the operations of
// its cause and their units, or else longer and longer parts before the end. j is the
// judge that called the history illegal.
func causeSlice(ops []Op, r Rules, cause []int64, j judge) []Op {
	s := newSlicer(ops, r)
	illegal := func(c selection) bool { return j(s.buildSlice(c), r, time.Second) == Violated }
	rets := make([]int64, 0, len(ops))
	for i := range ops {
		rets = append(rets, min(ops[i].Return, Forever))
	}
	slices.Sort(rets)
	for n := 0; n < len(ops); n = max(4*n, 16) {
		c := selection{map[int32]bool{}, map[int]bool{}}
		from := Forever
		if n > 0 {
			from = rets[len(rets)-n]
		}
		for i := range ops {
			o := &ops[i]
			switch known := slices.Contains(cause, o.ID); {
			case !known && (n == 0 || o.Return < from):
			case o.Kind == FoundBusy || o.Kind == Inspected && !r.Loose:
				c.alone[i] = true
			case s.unit[i] != noUnit:
				c.units[s.unit[i]] = true
			}
		}
		if illegal(c) {
			return s.buildSlice(s.shrinkSelection(c, illegal))
		}
	}
	return ops
}

// shrinkSelection leaves out of a selection what it is illegal without, for a second.
func (s *slicer) shrinkSelection(c selection, illegal func(selection) bool) selection {
	limit := time.Now().Add(time.Second)
	var alone []int
	for i := range c.alone {
		alone = append(alone, i)
	}
	sort.Ints(alone)
	for _, i := range alone {
		if delete(c.alone, i); time.Now().After(limit) || !illegal(c) {
			c.alone[i] = true
		}
	}
	var units []int
	for u := range c.units {
		units = append(units, int(u))
	}
	sort.Ints(units)
	for _, u := range units {
		if delete(c.units, int32(u)); time.Now().After(limit) || !illegal(c) {
			c.units[int32(u)] = true
		}
	}
	return c
}
