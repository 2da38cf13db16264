package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// An empty server replaces one that had the lock: its keys and its scripts are
// gone, and connections stay open.
var _ = register(Kind{
	Name:    "wipe",
	Summary: "a server forgets the lock and its scripts",
	Target:  "node",
	Plural:  "wipes",

	Traits: func(Spec) history.Traits {
		return history.Traits{Instant: true, LosesWrites: true, DeletesKeys: true, ForgetsScripts: true}
	},
	NeedsServers: true,
	RedisOnly:    func(Spec) string { return "scripts are Redis'" },

	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w) // "primary" becomes a name
		err := once(nodes, func(node string) error {
			if err := w.DeleteLock(node); err != nil {
				return err
			}
			return w.FlushScripts(node)
		})
		return strings.Join(nodes, ", ") + " is empty", nil, err
	},
})
