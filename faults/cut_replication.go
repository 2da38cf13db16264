package faults

import "context"

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
			heal, err := Cut(w, links)
			if err != nil {
				return "", nil, err
			}
			return "replication cut between " + between(links), func() error { heal(); return nil }, nil
		}), nil
	},
}
