package scenarios

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// World is the simulated world of the scenario for a lock: the clients and servers that
// its faults can strike. A lock that brings its own servers has one group of them.
//
// A server that is offered as a cluster has at least three groups.
func (s *Scenario) World(tested *locks.Lock) faults.Topology {
	t := faults.Topology{
		World: "sim", Clients: s.Topology.Clients, Groups: max(1, s.Topology.Groups, tested.Groups),
		Replicas: s.Topology.Replicas, Cluster: s.onCluster(tested),
		Clocks: tested.Claims.SynchronizedClocks,
	}
	if t.Cluster {
		t.Groups = max(t.Groups, leastOfCluster)
	}
	if own := tested.Bundled(); own != nil && !t.Cluster {
		t.Groups, t.Replicas = 1, own.Members-1
	}
	return t
}

// leastOfCluster is the number of groups without which a cluster elects no primary.
const leastOfCluster = 3

// onCluster reports whether the lock is played on a cluster, because of the scenario or of
// its server.
func (s *Scenario) onCluster(l *locks.Lock) bool { return s.Topology.Cluster || l.Server().Cluster }
