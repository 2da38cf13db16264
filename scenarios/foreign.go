package scenarios

import (
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/live/worker"
)

// aboutRedis says why servers that are no Redis cannot carry a fault, by name.
var aboutRedis = map[string]string{
	"drop-message":   "messages on a channel are Redis'",
	"slow-subscribe": "messages on a channel are Redis'",
	"script-flush":   "scripts are Redis'",
	"clock-jump":     "nothing is known of the clocks of servers that the lock brings along",
	"clock-drift":    "nothing is known of the clocks of servers that the lock brings along",
}

// carriedByForeign says whether servers that a lock brings along can carry the
// scenario, and else why not.
func (s *Scenario) carriedByForeign() (ok bool, reason string) {
	if s.Topology.Cluster {
		return false, "it is about a Redis Cluster, and the lock brings its own servers along"
	}
	for _, f := range s.Faults {
		switch {
		case aboutRedis[f.Fault] != "":
			return false, aboutRedis[f.Fault]
		case f.Fault == "node-restart" && f.Data == "lose":
			return false, "a member that has lost what it agreed to does not start again: another takes its place"
		case f.On != nil && slices.Contains([]string{faults.Received, faults.Executed}, f.On.Moment):
			return false, "it waits for a request at a server, and what a request says is known of Redis only"
		}
	}
	return true, ""
}

// placeForeign makes a topology that of the servers that a lock brings along.
func placeForeign(t faults.Topology, own *worker.OwnServers) faults.Topology {
	t.Groups, t.Replicas = 1, own.Members-1
	return t
}
