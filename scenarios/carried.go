package scenarios

import (
	"strings"

	"github.com/holdfast-go/holdfast/live"
)

// Carried says whether servers of a backend can carry the scenario for a lock
// that it applies to, on this machine, and else why not. It starts nothing.
func (s *Scenario) Carried(lock string, b live.Backend) (ok bool, reason string) {
	sub, err := subjectOf(lock)
	if err != nil {
		return false, err.Error()
	}
	if b.Own != nil {
		return s.carriedBy(b.Own, sub)
	}
	n := s.needs(sub)
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
