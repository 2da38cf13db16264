package scenarios

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
)

// Defaults of a scenario that says nothing else.
const defaultLock = "stock"

var DefaultLatency = Latency{Min: faults.Duration(100 * time.Microsecond), Max: faults.Duration(900 * time.Microsecond)}

// WithDefaults returns the scenario with the default of every setting that the
// file leaves out.
func (s *Scenario) WithDefaults() *Scenario {
	c := *s
	if c.Topology.Latency == (Latency{}) {
		c.Topology.Latency = DefaultLatency
	}
	c.Scale = cmp.Or(c.Scale, 1)
	return &c
}

// WorkloadOf is the workload of client n, with its overrides.
func (s *Scenario) WorkloadOf(n int) Workload {
	w := s.Workload
	w.Start += faults.Duration(time.Duration(n-1) * time.Duration(w.Stagger))
	o, ok := s.Override[party.Client(n)]
	if !ok {
		return w
	}
	set(&w.Holds, o.Holds)
	set(&w.Lease, o.Lease)
	set(&w.Wait, o.Wait)
	set(&w.Think, o.Think)
	set(&w.Rest, o.Rest)
	set(&w.Start, o.Start)
	set(&w.Explicit, o.Explicit)
	set(&w.Close, o.Close)
	set(&w.Extend, o.Extend)
	set(&w.Shutdown, o.Shutdown)
	return w
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
