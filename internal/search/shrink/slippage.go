package shrink

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
)

// slips reports whether a change would put another hazard in the place of the present
// one. Work that takes as long as the lease needs no fault to end in a violation. A short
// fault is another one than a fault without end. So is a single try than a wait: nothing
// says how long that may take.
func slips(from, to *scenarios.Scenario) bool {
	return overworked(to) && !overworked(from) || endless(to) > endless(from) || impatient(to) && !impatient(from)
}

// impatient reports whether some client does not wait for the lock at all.
func impatient(s *scenarios.Scenario) bool {
	for n := range s.Topology.Clients {
		if either(s.Override[party.Client(n+1)].Wait, s.Workload.Wait) == 0 {
			return true
		}
	}
	return false
}

// endless is the number of faults that last to the end of the run.
func endless(s *scenarios.Scenario) int {
	n := 0
	for _, f := range s.Faults {
		if k, _ := faults.Lookup(f.Fault); k.Lasts && f.For == 0 && !k.Traits(f).Instant {
			n++
		}
	}
	return n
}

// overworked reports whether some client plans to work for nine tenths of its
// lease or longer.
func overworked(s *scenarios.Scenario) bool {
	for n := range s.Topology.Clients {
		o := s.Override[party.Client(n+1)]
		lease, think := either(o.Lease, s.Workload.Lease), either(o.Think, s.Workload.Think)
		think *= faults.Duration(s.Workload.Sections())
		if lease > 0 && think >= lease*9/10 {
			return true
		}
	}
	return false
}

func either(d *faults.Duration, others faults.Duration) faults.Duration {
	if d != nil {
		return *d
	}
	return others
}
