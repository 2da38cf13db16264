package faults

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/history"
)

// nodeCrash kills servers; nobody is promoted in their place. When the fault
// ends they start again with the data they had.
var _ = register(Kind{
	Name:    "node-crash",
	Summary: "a server dies and, when the fault ends, starts again with the data it had",
	Target:  "node",
	Lasts:   true,
	Plural:  "crashes of the server",
	Traits: func(Spec) history.Traits {
		return history.Traits{Lasts: true, StopsNode: true, Refuses: true, BreaksConnections: true, ForgetsScripts: true}
	},
	NeedsServers: true,
	Draw:         func(d Dice, s *Spec) { s.For = d.Lasts() },
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			nodes := resolve(s.Target, w)
			heal, err := each(nodes, func(node string) (func() error, error) {
				return func() error { return w.StartNode(node, true) }, w.StopNode(node)
			})
			return strings.Join(nodes, ", ") + " crashed", heal, err
		}), nil
	},
})
