package scenarios

import (
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/subject"
)

// carriedByForeign says whether servers that a lock brings along can carry the
// scenario, and else why not.
func (s *Scenario) carriedByForeign() (ok bool, reason string) {
	if s.Topology.Cluster {
		return false, "it is about a Redis Cluster, and the lock brings its own servers along"
	}
	for _, f := range s.Faults {
		if k, _ := faults.Lookup(f.Fault); k.RedisOnly != nil && k.RedisOnly(f) != "" {
			return false, k.RedisOnly(f)
		}
		if f.On != nil && slices.Contains([]string{faults.Received, faults.Executed}, f.On.Moment) {
			return false, "it waits for a request at a server, and what a request says is known of Redis only"
		}
	}
	return true, ""
}

// placeForeign makes a topology that of the servers that a lock brings along.
func placeForeign(t faults.Topology, own *subject.BundledServers) faults.Topology {
	t.Groups, t.Replicas = 1, own.Members-1
	return t
}
