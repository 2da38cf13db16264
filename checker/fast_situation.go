package checker

import (
	"math/bits"
	"slices"
)

// openWords bounds the operations open at once, unknown ones included.
const openWords = 4

type opSet [openWords]uint64

func (s *opSet) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s *opSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s *opSet) remove(i int)   { s[i>>6] &^= 1 << (i & 63) }

// unused is the first number that is not in s, -1 when there is none.
func (s *opSet) unused() int {
	for i, w := range s {
		if w != ^uint64(0) {
			return i*64 + bits.TrailingZeros64(^w)
		}
	}
	return -1
}

// within says that s has nothing that t has not.
func (s *opSet) within(t *opSet) bool {
	for i, w := range s {
		if w&^t[i] != 0 {
			return false
		}
	}
	return true
}

func (s *opSet) and(t *opSet) (out opSet) {
	for i, w := range s {
		out[i] = w & t[i]
	}
	return out
}

type situation struct {
	state lockState
	done  opSet
}

// settle lets refusals that are right and change nothing take effect. That a
// refusal may also show a hold to have ended is no loss: it may still end.
func (s *search) settle(c *situation) {
	for w := range s.eager {
		for left := s.eager[w] &^ c.done[w]; left != 0; left &= left - 1 {
			slot := w*64 + bits.TrailingZeros64(left)
			if slices.Contains(s.step(c.state, s.ops[slot]), c.state) {
				c.done.add(slot)
			}
		}
	}
}

// step is the model's, without time when there is none. The result is valid
// until the next call.
func (s *search) step(from lockState, o *lockOp) []lockState {
	s.steps++
	s.scratch = s.r.step(s.scratch[:0], from, o)
	if s.timeless {
		for i := range s.scratch {
			n := &s.scratch[i]
			n.now = 0
			if n.holder != 0 && n.endLo < forever {
				n.endLo = longPast
			}
		}
	}
	if len(s.scratch) > 1 {
		s.scratch = distinct(s.scratch)
	}
	return s.scratch
}

// useful says whether it is worth trying an open operation here: of several
// of the same kind, the oldest is used first.
func (s *search) useful(slot int, c *situation) bool {
	o := s.ops[slot]
	if !s.optional.has(slot) || !o.unclear() {
		return true
	}
	for w := range s.optional {
		for left := s.optional[w] &^ c.done[w]; left != 0; left &= left - 1 {
			i := w*64 + bits.TrailingZeros64(left)
			p := s.ops[i]
			if i != slot && p.unclear() && like(p) == like(o) && p.asked <= o.asked &&
				(p.call < o.call || p.call == o.call && i < slot) {
				return false
			}
		}
	}
	return true
}

// essential drops situations that another makes needless.
func essential(all []situation, known *opSet) []situation {
	type class struct {
		holder, count int32
		done          opSet
	}
	groups := make(map[class][]int, len(all))
	kept := make([]bool, len(all))
	n := 0
next:
	for i := range all {
		c := &all[i]
		k := class{c.state.holder, c.state.count, c.done.and(known)}
		g := groups[k]
		for _, j := range g {
			if o := &all[j]; o.done.within(&c.done) && o.state.covers(&c.state) {
				continue next
			}
		}
		left := g[:0]
		for _, j := range g {
			if o := &all[j]; c.done.within(&o.done) && c.state.covers(&o.state) {
				kept[j] = false
				n--
				continue
			}
			left = append(left, j)
		}
		groups[k] = append(left, i)
		kept[i] = true
		n++
	}
	out := make([]situation, 0, n)
	for i := range all {
		if kept[i] {
			out = append(out, all[i])
		}
	}
	return out
}
