package liveplay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// carriedByExternal reports whether external servers support the scenario with a
// lock, or the reason why not.
func carriedByExternal(s *scenarios.Scenario, own *servers.External, tested *locks.Lock) (ok bool, reason string) {
	groups := s.World(tested).Groups
	switch {
	case s.Topology.Cluster && !own.Cluster():
		return false, "it is about a Redis Cluster, and the servers given with --redis are none"
	case tested.Groups > 1 && own.Cluster():
		return false, fmt.Sprintf("it needs %d independent primaries, and a cluster is one key space", groups)
	case own.Cluster() && groups > own.Groups():
		return false, fmt.Sprintf("it needs a cluster of %d primaries, and the one given with --redis has %d", groups, own.Groups())
	case groups > own.Groups():
		return false, fmt.Sprintf("it needs %d independent primaries, and --redis gives %d: give it once for each, as redis://", groups, own.Groups())
	case len(s.Workload.Names()) > 1:
		return false, "it is about several locks, and the keys of one are watched and removed on servers given with --redis"
	case tested.Acks && own.Replicas(groups) == 0:
		return false, "it waits for a replica, and the server given with --redis has none that is online"
	case tested.Acks && own.Replicas(groups) < s.Workload.Acks:
		return false, fmt.Sprintf("it waits for %d replicas, and the server given with --redis has %d that are online", s.Workload.Acks, own.Replicas(groups))
	}
	if i := slices.IndexFunc(s.Faults, func(f faults.Spec) bool { k, _ := faults.Lookup(f.Fault); return k.NeedsServers }); i >= 0 {
		return false, s.Faults[i].Fault + " needs control of the servers, and those given with --redis are your own"
	}
	for _, f := range s.Faults {
		if reason := outOfReach(f); reason != "" {
			return false, reason
		}
	}
	return true, ""
}

// outOfReach returns the reason why a fault that does not control a server cannot
// strike its target, or "".
func outOfReach(f faults.Spec) string {
	server := func(name string) bool { return !party.IsClient(name) }
	k, _ := faults.Lookup(f.Fault)
	named := slices.Concat(f.Target, f.Peer)
	if f.On != nil {
		named = append(named, f.On.Node)
	}
	switch {
	case slices.ContainsFunc(named, party.IsReplica):
		return f.Fault + " is about a replica, and those of your own servers are left alone"
	case k.Target == "link" && slices.ContainsFunc(f.Target, server) && (len(f.Peer) == 0 || slices.ContainsFunc(f.Peer, server)):
		return f.Fault + " is about a link between servers, and those given with --redis are your own"
	}
	return ""
}

// privateName makes a name of a lock that no other run or user has.
func privateName(name string) string {
	b := make([]byte, 6)
	rand.Read(b) // never fails
	return "holdfast:" + hex.EncodeToString(b) + ":" + name
}

// backend is the backend of the run, with only the external servers that the run needs.
func (l *liveRun) backend(ctx context.Context) (b servers.Backend, err error) {
	b = l.opts.Backend
	if b.External != nil {
		b.External, err = b.External.Part(ctx, l.Scenario.Workload.Names()[0], l.Top.Groups)
	}
	return b, err
}
