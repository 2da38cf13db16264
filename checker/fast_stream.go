package checker

import (
	"slices"
	"time"
)

// stream judges one lock while the run goes on, with the search. What an
// operation did is known when it returns, so the search follows up to the call
// of the oldest operation that is still open. It keeps the operations that
// have not returned or overlap one that has not, those with unknown outcome,
// and one acquire of every owner: no more, however long the run is.
type stream struct {
	search  *search
	pending []*entry // called and not yet searched, by call
	returns []*entry // searched up to their call, by return
	v       ruling
}

type entry struct {
	op   lockOp
	done bool // the outcome is known
	slot int
}

// newStream begins with the free lock. leased says that holds may end by
// themselves, or that acquires may fail after having held the lock.
func newStream(r rules, leased bool) *stream {
	s := &stream{search: newSearch(r, time.Time{}), v: good()}
	s.search.timeless = !leased
	s.search.parking.room = 2 * keptOpen // it cannot begin anew with more
	return s
}

// invoke opens an operation. Times never decrease from one invoke or finish to
// the next.
func (s *stream) invoke(call int64) *entry {
	e := &entry{op: lockOp{call: call}}
	if s.v.outcome == Good {
		s.pending = append(s.pending, e)
	}
	return e
}

// finish says what became of an operation at time now, which is when it
// returned unless o says that nobody knows, and judges on. The ruling is about
// everything before the oldest call still open, and stays what it is once it
// is not Good.
func (s *stream) finish(e *entry, o lockOp, now int64) ruling {
	e.op, e.done = o, true
	if s.v.outcome == Good {
		s.follow(now)
	}
	return s.v
}

// close judges what is left. Operations still open must be finished first.
func (s *stream) close() ruling {
	if s.v.outcome == Good {
		s.follow(forever)
	}
	return s.v
}

// follow takes every event that nothing still unknown can precede: calls come
// before returns at the same time, so a return waits until its time is over.
func (s *stream) follow(now int64) {
	for s.v.outcome == Good {
		until := now // returns before this may be taken
		if len(s.pending) > 0 {
			e := s.pending[0]
			if until = e.op.call; e.done && (len(s.returns) == 0 || s.returns[0].op.ret >= until) {
				s.pending[0] = nil
				s.pending = s.pending[1:]
				s.call(e)
				continue
			}
		}
		if len(s.returns) == 0 || s.returns[0].op.ret >= until {
			return
		}
		e := s.returns[0]
		s.returns = slices.Delete(s.returns, 0, 1)
		before := s.search.now
		switch s.search.finish(e.slot) {
		case Unknown:
			s.v = s.search.gaveUp(&e.op)
		case Violated:
			s.v = s.search.stuck(&e.op, before)
		}
	}
	s.pending, s.returns = nil, nil
}

func (s *stream) call(e *entry) {
	if e.slot = s.search.invoke(&e.op); e.slot < 0 {
		s.v = undecided("too many operations are open at once", &e.op)
		return
	}
	if e.op.ret < forever {
		at, _ := slices.BinarySearchFunc(s.returns, e.op.ret, func(r *entry, ret int64) int {
			if r.op.ret <= ret {
				return -1
			}
			return 1
		})
		s.returns = slices.Insert(s.returns, at, e)
	}
}
