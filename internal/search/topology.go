package search

import (
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Topology is the smallest world of a lock. One primary has a replica that can take
// over; several have none, unless the lock waits for it. It names their number, so who
// reads the scenario need not know the lock.
func Topology(l *locks.Lock, clients int) scenarios.Topology {
	const least = faults.Duration(100 * time.Microsecond)
	t := scenarios.Topology{Clients: clients, Latency: scenarios.Latency{Min: least, Max: 9 * least}}
	if l.Groups > 1 {
		t.Groups = l.Groups
	}
	if l.Groups == 1 || l.Acks {
		t.Replicas = 1
	}
	return t
}

// Override changes the settings that a client has of its own.
func Override(s *scenarios.Scenario, client string, change func(*scenarios.Override)) {
	if s.Override == nil {
		s.Override = map[string]scenarios.Override{}
	}
	o := s.Override[client]
	change(&o)
	s.Override[client] = o
}
