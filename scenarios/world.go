package scenarios

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// World is the simulated world of the scenario for a lock: the clients and servers
// that its faults can strike. A lock that brings its own servers has one group of
// them.
func (s *Scenario) World(tested *locks.Lock) faults.Topology {
	t := faults.Topology{
		World: "sim", Clients: s.Topology.Clients, Groups: max(1, s.Topology.Groups, tested.Groups),
		Replicas: s.Topology.Replicas, Cluster: s.Topology.Cluster,
	}
	if own := tested.Bundled(); own != nil && !t.Cluster {
		t.Groups, t.Replicas = 1, own.Members-1
	}
	return t
}
