package linear

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

// settleRefusals lets refusals that are right and change nothing take effect. That a
// refusal may also show a hold to have ended is no loss: it may still end.
func (s *search) settleRefusals(c *situation) {
	for w := range s.eager {
		for left := s.eager[w] &^ c.done[w]; left != 0; left &= left - 1 {
			slot := w*64 + bits.TrailingZeros64(left)
			if s.settling = s.stepTo(s.settling[:0], c.state, s.ops[slot]); slices.Contains(s.settling, c.state) {
				c.done.add(slot)
			}
		}
	}
}

// stepState is the model's, without time when there is none. The result is valid
// until the next call.
func (s *search) stepState(from lockState, o *Op) []lockState {
	s.scratch = s.stepTo(s.scratch[:0], from, o)
	return s.scratch
}

func (s *search) stepTo(out []lockState, from lockState, o *Op) []lockState {
	if s.steps++; o.Token > 0 && o.Kind == GotLock && from.token < s.tokens[o.Token] {
		return out
	}
	out = s.r.step(out, from, o)
	if s.timeless {
		for i := range out {
			n := &out[i]
			n.now = 0
			if n.holder != 0 && n.endLo < Forever {
				n.endLo = longPast
			}
		}
	}
	if len(out) > 1 {
		out = distinct(out)
	}
	return out
}

// isUseful reports whether it is worth trying an open operation here: of several of
// the same kind, the oldest is used first.
func (s *search) isUseful(slot int, c *situation) bool {
	o := s.ops[slot]
	if !s.optional.has(slot) || !o.unclear() {
		return true
	}
	for w := range s.optional {
		for left := s.optional[w] &^ c.done[w]; left != 0; left &= left - 1 {
			i := w*64 + bits.TrailingZeros64(left)
			p := s.ops[i]
			if i != slot && p.unclear() && like(p) == like(o) && p.Asked <= o.Asked &&
				(p.Call < o.Call || p.Call == o.Call && i < slot) {
				return false
			}
		}
	}
	return true
}

// class has what two situations must share for one to make the other needless.
type class struct {
	holder, count int32
	done          opSet // of the known operations
}

func (c *situation) classOf(known *opSet) class {
	return class{c.state.holder, c.state.count, c.done.and(known)}
}

// isAtLeast reports whether a situation of the same class allows whatever o allows.
func (c *situation) isAtLeast(o *situation) bool {
	return c.done.within(&o.done) && c.state.covers(&o.state)
}

// frontier is a list of situations without those that an earlier one betters.
type frontier struct {
	known opSet
	all   []situation
	next  []int32         // the one before of the same class, -1 for none
	heads map[class]int32 // the latest of each class
}

func (f *frontier) resetHeads(known opSet) {
	f.known, f.all, f.next = known, f.all[:0], f.next[:0]
	if f.heads == nil {
		f.heads = map[class]int32{}
	}
	clear(f.heads)
}

func (f *frontier) addSituation(c situation) {
	k := c.classOf(&f.known)
	head, ok := f.heads[k]
	if !ok {
		head = -1
	}
	for i := head; i >= 0; i = f.next[i] {
		if f.all[i].isAtLeast(&c) {
			return
		}
	}
	f.heads[k] = int32(len(f.all))
	f.all, f.next = append(f.all, c), append(f.next, head)
}

// essential appends to out the situations that no other betters.
func essential(out, all []situation, known opSet) []situation {
	if len(all) == 1 {
		return append(out, all...)
	}
	var f frontier
	f.resetHeads(known)
	for i := range all {
		f.addSituation(all[i])
	}
	for i := range f.all {
		c := &f.all[i]
		needed := true
		for k := f.heads[c.classOf(&known)]; k > int32(i) && needed; k = f.next[k] {
			needed = !f.all[k].isAtLeast(c)
		}
		if needed {
			out = append(out, *c)
		}
	}
	return out
}
