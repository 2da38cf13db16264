package linear

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// One order of the operations is enough to show that a history is legal. The witness
// search looks for one among few situations. From one return to the next it keeps, of
// every holder, some that have used the fewest operations of unknown outcome; and where
// an operation can return as things stand, it tries no unknown one before that. Every
// situation that it keeps may happen, so an end that it reaches is proof. That it gets
// stuck says nothing, for it has dropped situations.
//
// It decides a long history whose owners go on after lost replies. All situations are too
// many to keep, and of a right lock nearly any of them goes on.

// witnessWidths are the numbers of situations that are kept, tried in turn.
// Before one return the search finds at most witnessSpread times as many, and
// looks at that many times again.
var witnessWidths = [...]int{8, 64, 512}

const witnessSpread = 4

// byWitness reports whether a few situations are enough to reach the end.
func byWitness(ops []Op, r Rules, tokens map[uint64]uint64, width int, limit time.Time) bool {
	s := newSearch(r, limit)
	s.width, s.tokens = width, tokens
	return s.followAll(ops).Outcome == OutcomeOK
}

func (s *search) dropWorst() {
	if s.width == 0 || len(s.now) <= s.width {
		return
	}
	s.narrowed = true
	slices.SortStableFunc(s.now, func(a, b situation) int { return cmp.Compare(s.countUsed(&a), s.countUsed(&b)) })
	place := map[int32]int{} // of the next situation among those with the same holder
	places := make([]int, len(s.now))
	order := make([]int, len(s.now))
	for i := range s.now {
		holder := s.now[i].state.holder
		places[i], order[i] = place[holder], i
		place[holder]++
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(places[i], places[j]) })
	kept := make([]situation, s.width)
	for i := range kept {
		kept[i] = s.now[order[i]]
	}
	s.now = append(s.now[:0], kept...)
}

// countUsed counts the operations of unknown outcome that have taken effect.
func (s *search) countUsed(c *situation) int {
	done := c.done.and(&s.optional)
	n := 0
	for _, w := range done {
		n += bits.OnesCount64(w)
	}
	return n
}
