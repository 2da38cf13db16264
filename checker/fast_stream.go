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
	void bool // it was dropped
	slot int
}

// newStream begins with the free lock. leased says that holds may have a lease.
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
// returned unless o says that nobody knows, and judges on.
func (s *stream) finish(e *entry, o lockOp, now int64) {
	e.op, e.done = o, true
	s.advance(now)
}

// drop says that an operation proved to say nothing.
func (s *stream) drop(e *entry, now int64) {
	e.done, e.void = true, true
	s.advance(now)
}

// advance judges what can be judged when time has come to now.
func (s *stream) advance(now int64) {
	if s.v.outcome == Good {
		s.follow(now)
	}
}

// oldest is the oldest operation that is open, nil when there is none.
func (s *stream) oldest() *entry {
	if len(s.pending) > 0 {
		return s.pending[0]
	}
	return nil
}

// behind is how many operations were called since the oldest open one, with it.
func (s *stream) behind() int { return len(s.pending) }

// waits says that a return is judged only when time has passed it.
func (s *stream) waits() bool { return len(s.returns) > 0 && len(s.pending) == 0 }

// ruling is about everything before the oldest call that is still open. It
// stays what it is once it is not Good.
func (s *stream) ruling() ruling { return s.v }

// giveUp ends the judging without a decision.
func (s *stream) giveUp(why string, o *lockOp) {
	s.v = undecided(why, o)
	s.pending, s.returns = nil, nil
}

// close judges what is left. Operations still open must be finished first.
func (s *stream) close() { s.advance(forever) }

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
			s.v.at = e.op.ret
		}
	}
	s.pending, s.returns = nil, nil
}

func (s *stream) call(e *entry) {
	if e.void {
		return
	}
	if e.op.kind == tookAndGave {
		// Holds may end by themselves from here on. Until here time was left
		// out of the states, which loses nothing: none had a lease.
		s.search.timeless = false
	}
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
