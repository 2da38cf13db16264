package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// cancelFirst cancels the first of a client's operations: of several waiters, the next one.
const cancelFirst = "first"

// cancel ends the context of the client's operation: a caller gives up while a
// request may be under way.
var _ = register(Kind{
	Name:    "cancel",
	Summary: "the context of the client's current operation is cancelled",
	Target:  "client",
	Params:  []Param{{Name: "mode", Words: []string{"last", cancelFirst}}},
	Traits: func(s Spec) history.Traits {
		return history.Traits{Instant: true, Cancels: true, CancelsFirst: s.Mode == cancelFirst}
	},
	Variant: modeBut("last"),
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		cancel := func(client string) error { return w.Cancel(client, s.Mode == cancelFirst) }
		return "the operation of " + strings.Join(s.Target, ", ") + " cancelled", nil, once(resolve(s.Target, w), cancel)
	},
})
