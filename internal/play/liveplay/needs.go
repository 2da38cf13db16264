package liveplay

import (
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// needs are the servers and features of a scenario in a real world. They are only those
// of its faults and of the lock under test, because every server costs time.
type needs struct {
	replicas  bool // the lock waits for them, or a fault strikes them
	sentinels bool // somebody has to promote
	persist   bool // a server comes back with its data
	clocks    bool // a server's clock is moved
	wall      bool // a client's clock is moved
	moments   bool // a fault waits for a request at a server
	user      bool // a fault takes a right from the user of the clients
}

func needsOf(s *scenarios.Scenario, tested *locks.Lock) needs {
	n := needs{replicas: tested.Acks || s.Topology.Cluster || tested.ThirdParty != nil && tested.ThirdParty.Acks && s.Topology.Replicas > 0}
	for _, f := range s.Faults {
		t := f.Traits()
		n.replicas = n.replicas || t.Promotes || t.HoldsReplication
		n.sentinels = n.sentinels || t.Promotes && !s.Topology.Cluster
		n.persist = n.persist || t.Promotes || t.StopsNode && !t.LosesWrites
		n.clocks, n.wall = n.clocks || t.MovesClock, n.wall || t.MovesClientClock
		k, _ := faults.Lookup(f.Fault)
		n.moments, n.user = n.moments || k.NeedsRequests, n.user || k.NeedsUser
		named := slices.Concat(f.Target, f.Peer, faults.Names{f.To})
		for _, a := range []*faults.Anchor{f.On, f.Until} {
			if a != nil {
				n.moments = n.moments || a.OnLink()
				named = append(named, a.Node)
			}
		}
		n.replicas = n.replicas || slices.ContainsFunc(named, party.IsReplica)
	}
	return n
}

// liveTopology is the topology of the real world for a lock, or, on external
// servers, the part that faults can strike.
func liveTopology(s *scenarios.Scenario, tested *locks.Lock, n needs, own *servers.External) faults.Topology {
	t := s.World(tested)
	t.World = "live"
	if tested.Bundled() != nil {
		return t
	}
	if own != nil && own.Cluster() {
		t.Groups, t.Cluster = own.Groups(), true
	}
	if !n.replicas || own != nil {
		t.Replicas = 0
	}
	return t
}
