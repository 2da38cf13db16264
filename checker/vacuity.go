package checker

import (
	"cmp"
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// substance collects, event by event, what a history needs to prove something. A
// run in which nothing happened must not pass.
type substance struct {
	started            map[int]bool   // faults that struck
	failed             map[int]string // faults that could not, and why
	invoked, succeeded map[history.Func]bool
	grants             int
	outlived           map[ownerLock]outlived
	refused            bool // a release after a fault or the lease: the lock did answer
	stopped            bool // a user whose hold was over by itself: it had nothing to release
	cutOff             bool
}

// outlived is whether an owner outlives its lease.
type outlived struct {
	lease, ends int64 // of the last acquire; never if it is renewed or endless
	over        bool  // when the owner released
}

func newSubstance() *substance {
	return &substance{
		started: map[int]bool{}, failed: map[int]string{}, invoked: map[history.Func]bool{}, succeeded: map[history.Func]bool{},
		outlived: map[ownerLock]outlived{},
	}
}

func (s *substance) addEvent(e *history.Event) {
	switch e.Kind {
	case history.Fault:
		switch e.Fault.Phase {
		case history.PhaseStart:
			s.started[e.Fault.ID] = true
		case history.PhaseFailed:
			s.failed[e.Fault.ID] = e.Fault.Detail
		}
	case history.Invoke:
		s.invoked[e.F] = true
		s.followLease(e)
	case history.OK:
		s.succeeded[e.F] = true
		if e.F == history.Acquire {
			s.grants++
			s.followLease(e)
		}
	case history.Fail:
		answered := e.F == history.Release && e.Result != nil && (e.Result.Error == history.ErrNotHeld || e.Result.Error == history.ErrLost)
		s.refused = s.refused || answered && (len(s.started) > 0 || s.outlived[ownerLock{e.Owner, e.Lock}].over)
	case history.Note:
		s.stopped = s.stopped || e.F == history.Stopped
	case history.End:
		s.cutOff = e.End.CutOff
	}
}

// followLease notes when the lease of an owner's last acquire ends, and whether it has when
// the owner releases.
func (s *substance) followLease(e *history.Event) {
	k := ownerLock{e.Owner, e.Lock}
	o := s.outlived[k]
	switch {
	case e.Kind == history.OK:
		o.ends = plus(e.Time, o.lease)
	case e.F == history.Acquire && e.Args != nil && e.Args.Lease > 0 && !e.Args.Renewed:
		o.lease = e.Args.Lease
	case e.F == history.Acquire:
		o.lease = never
	case e.F == history.Release:
		o.over = o.ends > 0 && e.Time >= o.ends
	default:
		return
	}
	s.outlived[k] = o
}

// whyVacuous returns the reason for a run that proves nothing, or "".
func (s *substance) whyVacuous(h *history.Header) string {
	before := ""
	if s.cutOff {
		before = " before the history was cut off"
	}
	for _, f := range h.Faults {
		if s.started[f.ID] {
			continue
		}
		why, tried := s.failed[f.ID]
		if !tried {
			why = "never struck" + before
		}
		return fmt.Sprintf("fault %d (%s) %s", f.ID, f.Fault, cmp.Or(why, "could not strike"))
	}
	for _, f := range []history.Func{history.Acquire, history.Release, history.Read, history.Write} {
		if s.invoked[f] && !s.succeeded[f] && (f != history.Release || !s.stopped && !s.refused) {
			return fmt.Sprintf("no %s succeeded%s", f, before)
		}
	}
	if want := max(h.MinGrants, 1); s.grants < want {
		return fmt.Sprintf("only %s%s; a run means something from %d on", english.Count(s.grants, "grant"), before, want)
	}
	return ""
}

func whyVacuous(h *history.History) string {
	s := newSubstance()
	for i := range h.Events {
		s.addEvent(&h.Events[i])
	}
	return s.whyVacuous(&h.Header)
}
