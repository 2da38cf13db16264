package checker

import (
	"slices"
	"sort"
	"time"
)

// A cause slice is a small part of an illegal history that is illegal itself.
// Leaving out just any operation may make a legal history illegal (without a
// release the lock stays taken), so a slice leaves out only what a legal
// history can do without:
//
//   - The operations of an owner come in units. A unit begins with an acquire
//     that returned count 1, which took effect on the free lock: no hold goes
//     on from one unit into the next. So every hold, from the free lock back to
//     the free lock, is about operations of one unit and those of unknown
//     outcome. Leave out a unit, keep the unknown operations, and in any order
//     that was legal its holds are times in which the lock is free and the
//     unknown operations in them did nothing. The free lock allows whatever
//     others did meanwhile, but for being refused as busy.
//   - Whoever is refused, or asks for its count, changes nothing: that
//     operation can go by itself. Where it counts on several servers, asking
//     is answered by what others hold too, and always goes.
//   - An owner without any unit kept can go altogether, with its operations of
//     unknown outcome, for the same reason as a unit.
//   - So only a refusal that is kept needs somebody who held the lock: then
//     every unit stays that may have held it during the refusal, and every
//     operation of unknown outcome that was called by then.
//
// Hence a slice that is illegal proves that the history is.
type slicer struct {
	ops   []lockOp // up to the return that nothing allows
	r     rules
	unit  []int32 // of each operation; noUnit for one that belongs to none
	units []unit
}

type unit struct {
	owner    int32
	from, to int64 // it holds the lock within this time, if at all
}

const noUnit = -1

func newSlicer(ops []lockOp, r rules) *slicer {
	s := &slicer{ops: ops, r: r, unit: make([]int32, len(ops))}
	current := map[int32]int32{} // owner -> its unit
	over := map[int32]int64{}    // owner -> when all it did so far, and is known, had returned
	for i := range ops {
		o := &ops[i]
		if o.kind == foundBusy || o.kind == tookAndGave {
			s.unit[i] = noUnit
			continue
		}
		u, ok := current[o.owner]
		// What touches in time may have happened in either order.
		if !ok || o.kind == gotLock && o.count == 1 && o.call > over[o.owner] {
			if ok {
				s.units[u].to = min(s.units[u].to, o.ret)
			}
			u = int32(len(s.units))
			s.units, current[o.owner] = append(s.units, unit{o.owner, o.call, forever}), u
		}
		s.unit[i] = u
		if o.kind != maybeGot && o.kind != maybeGave {
			over[o.owner] = max(over[o.owner], o.ret)
		}
		switch {
		case o.kind == gaveBack && o.count == 0 && !r.loose:
			s.units[u].to = o.ret
		case o.kind != inspected:
			s.units[u].to = forever
		}
	}
	return s
}

// selection is what a slice is to keep: units, and by their index refusals and
// inspections.
type selection struct {
	units map[int32]bool
	alone map[int]bool
}

// build makes the slice of a selection, with all that it cannot do without.
func (s *slicer) build(c selection) []lockOp {
	units, owners := map[int32]bool{}, map[int32]bool{}
	for u := range c.units {
		units[u] = true
	}
	// All refusals at once: a little more than they need is kept.
	from, to := forever, longPast
	for i := range c.alone {
		switch o := &s.ops[i]; o.kind {
		case foundBusy:
			from, to = min(from, o.call), max(to, o.ret)
		case inspected:
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
	var out []lockOp
	for i := range s.ops {
		o := &s.ops[i]
		keep := false
		switch o.kind {
		case foundBusy, inspected:
			keep = c.alone[i]
		case tookAndGave:
			keep = owners[o.owner] || o.call <= to && o.ret >= from
		case maybeGot, maybeGave:
			keep = owners[o.owner] || o.call <= to
		default:
			keep = units[s.unit[i]]
		}
		if keep {
			out = append(out, *o)
		}
	}
	return out
}

// causeSlice finds a small illegal part of an illegal history: the operations
// of its cause and their units, or else what was going on for longer and
// longer before the end. j is the judge that called the history illegal.
func causeSlice(ops []lockOp, r rules, cause []int64, j judge) []lockOp {
	s := newSlicer(ops, r)
	illegal := func(c selection) bool { return j(s.build(c), r, time.Second) == Violated }
	rets := make([]int64, 0, len(ops))
	for i := range ops {
		rets = append(rets, min(ops[i].ret, forever))
	}
	slices.Sort(rets)
	for n := 0; n < len(ops); n = max(4*n, 16) {
		c := selection{map[int32]bool{}, map[int]bool{}}
		from := forever
		if n > 0 {
			from = rets[len(rets)-n]
		}
		for i := range ops {
			o := &ops[i]
			switch known := slices.Contains(cause, o.id); {
			case !known && (n == 0 || o.ret < from):
			case o.kind == foundBusy || o.kind == inspected && !r.loose:
				c.alone[i] = true
			case s.unit[i] != noUnit:
				c.units[s.unit[i]] = true
			}
		}
		if illegal(c) {
			return s.build(s.shrink(c, illegal))
		}
	}
	return ops
}

// shrink leaves out of a selection what it is illegal without, for a second.
func (s *slicer) shrink(c selection, illegal func(selection) bool) selection {
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
