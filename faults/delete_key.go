package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// deleteKey deletes the lock's keys on servers, as an eviction, FLUSHALL, or an
// operator who unblocks a queue does.
var _ = register(Kind{
	Name:    "delete-key",
	Summary: "the lock's keys are deleted behind the lock's back (eviction, an operator)",
	Target:  "node",
	Traits:  func(Spec) history.Traits { return history.Traits{Instant: true, DeletesKeys: true} },
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w)
		return "the lock's keys on " + strings.Join(nodes, ", ") + " deleted", nil, once(nodes, w.DeleteLock)
	},
})
