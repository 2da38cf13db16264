package scenarios

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/subject"
)

// World is what the simulated world is made of when the scenario is played
// with a lock: who writes a scenario needs to know whom its faults can strike.
func (s *Scenario) World(l *subject.Subject) faults.Topology { return s.TopologyFor(l) }

// TopologyFor is what the simulated world must be made of for a lock.
func (s *Scenario) TopologyFor(sub *subject.Subject) faults.Topology {
	t := faults.Topology{
		World: "sim", Clients: s.Topology.Clients, Groups: max(1, s.Topology.Groups, sub.Groups),
		Replicas: s.Topology.Replicas, Cluster: s.Topology.Cluster,
	}
	if own := sub.Bundled(); own != nil && !t.Cluster {
		return placeForeign(t, own)
	}
	return t
}

// placeForeign makes a topology that of the servers that a lock brings along.
func placeForeign(t faults.Topology, own *subject.BundledServers) faults.Topology {
	t.Groups, t.Replicas = 1, own.Members-1
	return t
}
