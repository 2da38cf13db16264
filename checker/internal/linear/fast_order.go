package linear

import "github.com/holdfast-go/holdfast/checker/history"

// checkOrder checks that the sessions fit one after the other.
//
// Every session T begins at or before takes(T), and every session S ends at or after
// core(S). So S can come before T only if core(S) <= takes(T). Of two sessions with cores
// that are not empty, this holds in one direction at most. The exception is cores of the
// same single instant, where both orders are the same. So their order is forced, and it
// is the order of takes.
//
// Without leases every core is non-empty, and the condition is also enough. Begin each
// session as early as the one before it allows, end it at core, and every operation keeps
// within its call and return.
func (s *sessions) checkOrder() Ruling {
	before := -1 // the session with the latest core so far
	for i := range s.list {
		c := &s.list[i]
		if c.core < c.takes {
			continue
		}
		if before >= 0 && s.list[before].core > c.takes {
			return s.explainOverlap(&s.list[before], c)
		}
		if before >= 0 && c.core == c.takes && s.list[before].takes == c.takes {
			s.addDoubt(&s.ops[c.first], "two holds are certain at one same instant only, and may come in either order")
		}
		before = i
	}
	return good()
}

func (s *sessions) explainOverlap(a, b *session) Ruling {
	op := func(i int32) *Op {
		if i < 0 {
			return nil
		}
		return &s.ops[i]
	}
	x, y := op(a.first), op(b.first)
	return contradiction([]*Op{x, op(a.end), y, op(b.end)},
		"%s held the lock from %s to %s at least, and %s from %s", s.name(x), history.At(a.takes), after(a.core), s.name(y), history.At(b.takes))
}

// checkRefusals checks that somebody can have held the lock when an acquire was refused.
//
// Session i can hold from its call, or from the core of the session before when that is
// later. It can hold to last, or to takes of the session after when that is earlier.
// Where the two windows of a handover overlap, the lock passes on at one instant and is
// never free; where they do not, taking both extremes leaves it free between them only.
// The choices of different handovers are independent, so one schedule has all these
// longest holds at once. A refusal is right exactly if it touches one of them.
//
// With leases a late end may rule out an early begin. Then a refusal that
// touches none is still wrong, but one that touches some proves nothing yet.
//
// A refusal that touches none may also be due to an acquire that left no other
// trace and took the lock in the gap.
func (s *sessions) checkRefusals() Ruling {
	if s.leased {
		if len(s.phantoms) > 0 {
			return good() // the chain decides
		}
		for i := range s.list {
			if s.list[i].core < s.list[i].takes {
				return good() // no forced order
			}
		}
	}
	free := gaps{s: s}
	i := 0
	for _, b := range s.busy {
		o := &s.ops[b]
		for i < len(s.list) && s.holdUntil(i) < o.Call {
			i++
		}
		k := i
		gap := i
		for k < len(s.list) && s.r.Reentrant && s.ops[s.list[k].first].Owner == o.Owner {
			// It only touches a hold of its own owner, who would not be refused.
			if k++; s.list[k-1].first < b {
				gap = k
			}
		}
		if k < len(s.list) && s.holdFrom(k) <= o.Return {
			continue
		}
		free.addRefusal(gap, b)
	}
	if _, left := free.choosePhantoms(); left != nil {
		return s.explainIdle(left)
	}
	return good()
}

// holdFrom and holdUntil bound the longest hold of session i. Both grow with i.
func (s *sessions) holdFrom(i int) int64 {
	c := &s.list[i]
	if i == 0 {
		return c.calls
	}
	return max(c.calls, s.list[i-1].core)
}

func (s *sessions) holdUntil(i int) int64 {
	c := &s.list[i]
	if i+1 == len(s.list) {
		return c.last
	}
	return min(c.last, s.list[i+1].takes)
}

func (s *sessions) explainIdle(f *refusal) Ruling {
	o := &s.ops[f.op]
	cause := []*Op{o}
	held := "nobody had held it before"
	if f.gap > 0 {
		c := &s.list[f.gap-1]
		cause = append(cause, &s.ops[c.first])
		if c.end >= 0 {
			cause = append(cause, &s.ops[c.end])
		}
		held = "the last hold before was over by " + history.At(s.holdUntil(int(f.gap)-1))
	}
	next := "nobody took it after"
	if int(f.gap) < len(s.list) {
		c := &s.list[f.gap]
		cause = append(cause, &s.ops[c.first])
		next = "the next began no earlier than " + history.At(s.holdFrom(int(f.gap)))
	}
	return contradiction(cause, "%s was refused the lock as busy between %s and %s, and it was free: %s, %s",
		s.name(o), history.At(o.Call), history.At(o.Return), held, next)
}
