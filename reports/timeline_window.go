package reports

import (
	"math"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
)

// window decides which part of the run the timeline shows: everything up to the
// last important event. If that has too many holds, it is the surroundings of the
// first violation.
func (t *timeline) window() {
	f := t.f
	last := f.Begin
	for i := range f.History.Events {
		e := &f.History.Events[i]
		switch e.Kind {
		case history.End, history.Log:
		case history.Server:
			if e.Server != nil && e.Server.Holder != e.Server.WasHolder {
				last = e.Time
			}
		default:
			last = e.Time
		}
	}
	t.from, t.to = f.Begin, max(last, f.Begin+1)
	if len(f.Beliefs) > maxBeliefs {
		t.narrow()
	}
	t.zoom()
	// A little air on both sides keeps events off the edge.
	air := max((t.to-t.from)/60, 1)
	if t.from == f.Begin && t.from < (t.to-t.from)/4 {
		t.from = 0
	}
	t.from, t.to = max(0, t.from-air), t.to+air
}

// zoom narrows the window to the violation and its surroundings, if they are a
// small part of the run.
func (t *timeline) zoom() {
	f := t.f
	from, to := int64(math.MaxInt64), int64(-1)
	for _, o := range f.Overlaps {
		if t.shown(o.From, o.To) {
			from, to = min(from, o.A.From), max(to, o.To)
		}
	}
	for _, u := range f.Lost {
		if at := u.Event.Time; t.shown(at, at) {
			from, to = min(from, at), max(to, at)
		}
	}
	around := max((to-from)/2, int64(20e6))
	if to < 0 || 3*(to-from+2*around) > 2*(t.to-t.from) {
		return
	}
	start := t.from
	t.from, t.to = max(t.from, from-around), min(t.to, to+around)
	for _, o := range f.Overlaps { // a lease that began long before the belief explains it
		for _, c := range []*checker.Belief{o.A, o.B} {
			if c.LeaseTo > 0 && t.shown(o.From, o.To) {
				t.from = max(start, min(t.from, c.LeaseFrom))
			}
		}
	}
}

// narrow keeps the part of a long run with the violation.
func (t *timeline) narrow() {
	f := t.f
	pick := 0
	switch {
	case len(f.Overlaps) > 0:
		pick = slices.IndexFunc(f.Beliefs, func(c checker.Belief) bool { return c.AcquireOp == f.Overlaps[0].A.AcquireOp })
	case len(f.Lost) > 0:
		pick = t.beliefBefore(f.Lost[0].Event.Time)
	case len(t.proven) > 0:
		pick = max(0, slices.IndexFunc(f.Beliefs, func(c checker.Belief) bool { return t.proven[c.AcquireOp] || t.proven[c.EndOp] }))
	default:
		if i := slices.IndexFunc(f.Faults, func(x *history.Strike) bool { return !x.Failed() }); i >= 0 {
			pick = t.beliefBefore(f.Faults[i].From)
		}
	}
	first := max(0, pick-8)
	end := min(len(f.Beliefs), first+maxBeliefs/2)
	if first > 0 {
		t.from = f.Beliefs[first].From
	}
	if end < len(f.Beliefs) {
		t.to = f.Beliefs[end-1].To
		for _, o := range f.Overlaps[:min(1, len(f.Overlaps))] {
			t.to = max(t.to, o.To)
		}
	}
	if t.to <= t.from {
		t.to = t.from + 1
	}
}

func (t *timeline) beliefBefore(at int64) int {
	for i, c := range slices.Backward(t.f.Beliefs) {
		if c.From <= at {
			return i
		}
	}
	return 0
}
