package faults

import (
	"github.com/holdfast-go/holdfast/checker/history"
)

// cutReplication separates replicas from their primary, in both directions. The
// primary goes on confirming writes, and WAIT counts fewer replicas.
var _ = register(Kind{
	Name:         "cut-replication",
	Summary:      "a primary and its replicas lose sight of each other",
	Target:       "node",
	Lasts:        true,
	LinksOnly:    true,
	Traits:       func(Spec) history.Traits { return history.Traits{Lasts: true, HoldsReplication: true, Cuts: true} },
	NeedsServers: true,
	Draw:         func(d dice, s *Spec) { s.For = d.Lasts() },
	Available:    needsReplicas,
	Strike: func(w World, s Spec, t Topology, _ uint64) (string, func() error, error) {
		links := replication(s, t, w)
		heal, err := Cut(w, links)
		if err != nil {
			return "", nil, err
		}
		return "replication cut between " + between(links), func() error { heal(); return nil }, nil
	},
})
