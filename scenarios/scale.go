package scenarios

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// ShortestLease is the shortest lease that any client requests.
func (s *Scenario) ShortestLease() time.Duration {
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

// AtScale returns the scenario with all times multiplied by scale.
func (s *Scenario) AtScale(scale float64) *Scenario {
	c := *s
	c.Scale = scale
	if scale == 1 {
		return &c
	}
	by := func(ds ...*faults.Duration) {
		for _, d := range ds {
			if d != nil {
				*d = faults.Duration(locks.Scaled(time.Duration(*d), scale))
			}
		}
	}
	t, w := &c.Topology, &c.Workload
	if t.Latency != DefaultLatency {
		by(&t.Latency.Min, &t.Latency.Max)
	}
	by(&t.Lag, &w.Lease, &w.Wait, &w.Think, &w.Rest, &w.Start, &w.Stagger, &w.Poll, &w.Handoff, &w.Close, &w.Extend, &w.Observe)
	w.Nested = slices.Clone(w.Nested)
	for i := range w.Nested {
		by(&w.Nested[i])
	}
	c.Override = maps.Clone(c.Override)
	for name, o := range c.Override {
		for _, d := range []**faults.Duration{&o.Lease, &o.Wait, &o.Think, &o.Rest, &o.Start, &o.Close, &o.Extend} {
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
