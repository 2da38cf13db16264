package liveplay

import (
	"strings"

	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// Carries says whether servers of a backend can carry the scenario for a lock
// that it applies to, on this machine, and else why not. It starts nothing.
func Carries(s *scenarios.Scenario, l *subject.Subject, b live.Backend) (ok bool, reason string) {
	if b.Own != nil {
		return carriedByExternal(s, b.Own, l)
	}
	if b.Foreign != nil {
		return carriedByBundled(s)
	}
	n := needsOf(s, l)
	if g := l.ThirdParty; g != nil {
		if n.sentinels && !g.CanReach(subject.ThroughSentinels) {
			return false, "its client does not ask Sentinels"
		}
	}
	if n.clocks {
		if err := b.MovesClocks(); err != nil {
			return false, strings.TrimPrefix(err.Error(), live.ErrUnavailable.Error()+": ")
		}
	}
	if b.Name() != live.Miniredis {
		return true, ""
	}
	switch {
	case s.Topology.Cluster:
		return false, "miniredis is no cluster"
	case n.sentinels:
		return false, "miniredis has no Sentinels to promote a replica"
	case n.replicas:
		return false, "miniredis has no replicas"
	case n.persist:
		return false, "miniredis keeps no data over a restart"
	}
	return true, ""
}
