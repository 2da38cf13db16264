package faults

import (
	"context"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// cutReplication parts replicas from their primary, both ways. The primary
// goes on confirming writes, and WAIT counts fewer replicas.
var cutReplication = Kind{
	Name:      "cut-replication",
	Summary:   "a primary and its replicas lose sight of each other",
	Target:    "node",
	Lasts:     true,
	Available: needsReplicas,
	New: func(s Spec, t Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			links := replication(s, t, w)
			hold := new(Hold)
			heal, err := hold.on(w, links, []stream.Direction{stream.Upstream, stream.Downstream}, hold)
			return "replication cut between " + between(links), heal, err
		}), nil
	},
}
