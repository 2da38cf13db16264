package shrink

import (
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

func clone(s *scenarios.Scenario) *scenarios.Scenario {
	c := *s
	c.Workload.Nested = slices.Clone(s.Workload.Nested)
	c.Override = make(map[string]scenarios.Override, len(s.Override))
	for client, o := range s.Override {
		o.Holds, o.Explicit = pointer(o.Holds), pointer(o.Explicit)
		for _, d := range []**faults.Duration{&o.Lease, &o.Wait, &o.Think, &o.Rest, &o.Start, &o.Close, &o.Extend} {
			*d = pointer(*d)
		}
		c.Override[client] = o
	}
	c.Faults = slices.Clone(s.Faults)
	for i := range c.Faults {
		f := &c.Faults[i]
		f.At, f.On = pointer(f.At), pointer(f.On)
		f.Target, f.Peer = slices.Clone(f.Target), slices.Clone(f.Peer)
	}
	return &c
}

func pointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func changed(s *scenarios.Scenario, change func(*scenarios.Scenario)) *scenarios.Scenario {
	c := clone(s)
	change(c)
	for client, o := range c.Override {
		if o == (scenarios.Override{}) {
			delete(c.Override, client)
		}
	}
	return c
}
