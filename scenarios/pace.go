package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/subject"
)

// Paces of a scenario in real time, when nobody asks for another.
const (
	// quick suits scenarios in which nothing has a time of its own.
	quick = 0.2
	// brisk suits locks that need all of several servers, and wait for each.
	brisk = 0.5
	// asWritten suits those in which a replica has to find its primary again:
	// it tries once in a second. And it suits servers of which nobody knows
	// what they do in whole seconds.
	asWritten = 1
	// unhurried suits those in which Sentinels or the nodes of a cluster have
	// to notice a death and to vote, which takes them up to three seconds.
	unhurried = 1.5
)

// Pace is how the scenario's times are scaled in real time unless somebody
// asks for another scale: 0.2 plays 10 s in 2 s. It is one that [Scenario.CheckPace]
// allows.
func (s *Scenario) Pace(l *subject.Subject) float64 {
	bearable := float64(4*subject.LongestOperation) / float64(s.shortestLease())
	return max(s.suitable(l), bearable)
}

// suitable is the pace at which real servers get done what the scenario is
// about.
func (s *Scenario) suitable(l *subject.Subject) float64 {
	switch {
	case s.has(func(t history.Traits) bool { return t.Promotes }):
		return unhurried
	case l.Bundled() != nil, s.needs(l).replicas && s.has(func(t history.Traits) bool { return t.StopsNode }):
		return asWritten
	case l.Groups > 1 && l.Claims(s.setting()).Quorum == l.Groups:
		return brisk
	}
	return quick
}

// CheckPace says why a scenario cannot be played at a scale.
func (s *Scenario) CheckPace(scale float64) error {
	shortest := s.shortestLease()
	if at := subject.Scaled(shortest, scale); at < 4*subject.LongestOperation {
		return fmt.Errorf("at a time scale of %g the lease of %s lasts %s: it must be at least %s, four times the longest operation",
			scale, shortest, at, 4*subject.LongestOperation)
	}
	return nil
}

// shortestLease is the shortest that any client asks for.
func (s *Scenario) shortestLease() time.Duration {
	shortest := s.Workload.Lease
	each := func(d faults.Duration) {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	for _, d := range s.Workload.Nested {
		each(d)
	}
	for _, o := range s.Override {
		if o.Lease != nil {
			each(*o.Lease)
		}
	}
	return time.Duration(shortest)
}

// atScale is the scenario with every time of it longer or shorter.
func (s *Scenario) atScale(scale float64) *Scenario {
	c := *s
	c.scale = scale
	if scale == 1 {
		return &c
	}
	by := func(ds ...*faults.Duration) {
		for _, d := range ds {
			if d != nil {
				*d = faults.Duration(subject.Scaled(time.Duration(*d), scale))
			}
		}
	}
	t, w := &c.Topology, &c.Workload
	if t.Latency != defaultLatency {
		by(&t.Latency.Min, &t.Latency.Max)
	}
	by(&t.Lag, &w.Lease, &w.Wait, &w.Think, &w.Rest, &w.Start, &w.Stagger, &w.Poll, &w.Handoff, &w.Close)
	w.Nested = slices.Clone(w.Nested)
	for i := range w.Nested {
		by(&w.Nested[i])
	}
	c.Override = maps.Clone(c.Override)
	for name, o := range c.Override {
		for _, d := range []**faults.Duration{&o.Lease, &o.Wait, &o.Think, &o.Rest, &o.Start, &o.Close} {
			if *d != nil {
				own := **d
				*d = &own
				by(*d)
			}
		}
		c.Override[name] = o
	}
	c.Faults = slices.Clone(c.Faults)
	for i := range c.Faults {
		f := &c.Faults[i]
		if f.At != nil {
			own := *f.At
			f.At = &own
		}
		by(f.At, &f.After, &f.Within, &f.For, &f.By, &f.Jitter)
	}
	return &c
}
