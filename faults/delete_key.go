package faults

import (
	"context"
	"strings"
)

// deleteKey deletes the lock's keys on servers: an eviction, FLUSHALL, or an
// operator who unblocks a queue by hand.
var deleteKey = Kind{
	Name:    "delete-key",
	Summary: "the lock's keys are deleted behind the lock's back (eviction, an operator)",
	Target:  "node",
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			nodes := resolve(s.Target, w)
			return "the lock's keys on " + strings.Join(nodes, ", ") + " deleted", nil, once(nodes, w.DeleteLock)
		}), nil
	},
}
