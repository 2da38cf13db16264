package liveplay

import (
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Carries reports whether servers of a backend on this machine support the scenario for a
// lock to which it applies, or the reason why not. It starts nothing.
func Carries(s *scenarios.Scenario, l *locks.Lock, b servers.Backend) (ok bool, reason string) {
	top := s.World(l)
	top.World = "live"
	if _, err := faults.NewSchedule(s.Faults, top, 0); err != nil {
		return false, err.Error()
	}
	if b.External != nil {
		return carriedByExternal(s, b.External, l)
	}
	if b.Bundled != nil {
		return carriedByBundled(s, l.Bundled())
	}
	if len(l.Sends) > 0 && b.Program == "" {
		return false, "it sends " + l.Sends[0] + ", which only newer servers know; --redis and --backend play on servers of your own"
	}
	n := needsOf(s, l)
	if b.Program != "" && l.Server().Alone && (n.replicas || n.sentinels || s.Topology.Cluster) {
		return false, l.Server().Name + " lacks the option bind-source-addr, by which the proxies tell its servers apart"
	}
	if g := l.ThirdParty; g != nil {
		if n.sentinels && !g.CanReach(locks.ThroughSentinels) {
			return false, "its client does not ask Sentinels"
		}
	}
	if n.clocks {
		if err := b.MovesClocks(); err != nil {
			return false, strings.TrimPrefix(err.Error(), processes.ErrUnavailable.Error()+": ")
		}
	}
	if b.Name() != servers.Miniredis {
		return true, ""
	}
	switch {
	case s.Topology.Cluster:
		return false, "miniredis is no cluster"
	case n.sentinels:
		return false, "miniredis has no Sentinels to promote a replica"
	case n.replicas:
		return false, "miniredis has no replicas"
	case n.user:
		return false, "miniredis has no users, and no limit of memory"
	case n.persist:
		return false, "miniredis keeps no data over a restart"
	}
	return true, ""
}
