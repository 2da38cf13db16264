package linear

import (
	"slices"
	"time"
)

// Stream judges one lock while the run goes on, with the search. What an
// operation did is known when it returns, so the search follows up to the call
// of the oldest operation that is still open. It keeps the operations that
// have not returned or overlap one that has not, those with unknown outcome,
// and one acquire of every owner: no more, however long the run is.
type Stream struct {
	search  *search
	pending []*Entry // called and not yet searched, by call
	returns []*Entry // searched up to their call, by return
	v       Ruling
}

// Entry is an operation that a stream follows.
type Entry struct {
	op   Op
	done bool // the outcome is known
	void bool // it was dropped
	slot int
}

// NewStream begins with the free lock. leased says that holds may have a lease.
func NewStream(r Rules, leased bool) *Stream {
	s := &Stream{search: newSearch(r, time.Time{}), v: good()}
	s.search.timeless, s.search.most = !leased, maxStreamed
	s.search.parking.room = 2 * keptOpen // it cannot begin anew with more
	return s
}

// Invoke opens an operation. Times never decrease from one invoke or finish to
// the next.
func (s *Stream) Invoke(call int64) *Entry {
	e := &Entry{op: Op{Call: call}}
	if s.v.Outcome == OutcomeOK {
		s.pending = append(s.pending, e)
	}
	return e
}

// Finish says what became of an operation at time now, which is when it
// returned unless o says that nobody knows, and judges on.
func (s *Stream) Finish(e *Entry, o Op, now int64) {
	e.op, e.done = o, true
	s.Advance(now)
}

// Drop says that an operation proved to say nothing.
func (s *Stream) Drop(e *Entry, now int64) {
	e.done, e.void = true, true
	s.Advance(now)
}

// Advance judges what can be judged when time has come to now.
func (s *Stream) Advance(now int64) {
	if s.v.Outcome == OutcomeOK {
		s.follow(now)
	}
}

// Oldest is the oldest open operation; nil when every operation has returned.
func (s *Stream) Oldest() *Entry {
	if len(s.pending) > 0 {
		return s.pending[0]
	}
	return nil
}

// Behind is how many operations were called since the oldest open one, with it.
func (s *Stream) Behind() int { return len(s.pending) }

// Waits reports whether a return is judged only when time has passed it.
func (s *Stream) Waits() bool { return len(s.returns) > 0 && len(s.pending) == 0 }

// Ruling is about everything before the oldest call that is still open. It
// stays what it is once it is not OutcomeOK.
func (s *Stream) Ruling() Ruling { return s.v }

// GiveUp ends the judging without a decision.
func (s *Stream) GiveUp(why string, o *Op) {
	s.v = undecided(why, o)
	s.pending, s.returns = nil, nil
}

// Close judges what is left. Operations still open must be finished first.
func (s *Stream) Close() { s.Advance(Forever) }

// follow takes every event that nothing still unknown can precede: calls come
// before returns at the same time, so a return waits until its time is over.
func (s *Stream) follow(now int64) {
	for s.v.Outcome == OutcomeOK {
		until := now // returns before this may be taken
		if len(s.pending) > 0 {
			e := s.pending[0]
			if until = e.op.Call; e.done && (len(s.returns) == 0 || s.returns[0].op.Return >= until) {
				s.pending[0] = nil
				s.pending = s.pending[1:]
				s.call(e)
				continue
			}
		}
		if len(s.returns) == 0 || s.returns[0].op.Return >= until {
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
			s.v.At = e.op.Return
		}
	}
	s.pending, s.returns = nil, nil
}

func (s *Stream) call(e *Entry) {
	if e.void {
		return
	}
	if e.op.Kind == TookAndGave {
		// Holds may end by themselves from here on. Until here time was left
		// out of the states, which loses nothing: none had a lease.
		s.search.timeless = false
	}
	if e.slot = s.search.invoke(&e.op); e.slot < 0 {
		s.v = undecided("too many operations are open at once", &e.op)
		return
	}
	if e.op.Return < Forever {
		at, _ := slices.BinarySearchFunc(s.returns, e.op.Return, func(r *Entry, ret int64) int {
			if r.op.Return <= ret {
				return -1
			}
			return 1
		})
		s.returns = slices.Insert(s.returns, at, e)
	}
}
