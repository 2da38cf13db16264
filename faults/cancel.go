package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// cancel ends the context of the client's operation: a caller gives up while a
// request may be under way.
var _ = register(Kind{
	Name:    "cancel",
	Summary: "the context of the client's current operation is cancelled",
	Target:  "client",
	Traits:  func(Spec) history.Traits { return history.Traits{Instant: true, Cancels: true} },
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		return "the operation of " + strings.Join(s.Target, ", ") + " cancelled", nil, once(resolve(s.Target, w), w.Cancel)
	},
})
