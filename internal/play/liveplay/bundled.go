package liveplay

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// carriedByBundled reports whether bundled servers support the scenario, or the
// reason why not.
func carriedByBundled(s *scenarios.Scenario, own *locks.BundledServers) (ok bool, reason string) {
	if own.Missing != "" {
		return false, own.Missing
	}
	if s.Topology.Cluster {
		return false, "it is about a Redis Cluster, and the lock brings its own servers along"
	}
	for _, f := range s.Faults {
		if k, _ := faults.Lookup(f.Fault); k.RedisOnly != nil && k.RedisOnly(f) != "" {
			return false, k.RedisOnly(f)
		}
		if f.On != nil && f.On.OnLink() || f.Until != nil && f.Until.OnLink() {
			return false, "it waits for a request at a server, and what a request says is known of Redis only"
		}
	}
	return true, ""
}
