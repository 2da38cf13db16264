package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// scriptFlush empties the script cache of servers, as SCRIPT FLUSH, a restart
// or a failover does: EVALSHA answers NOSCRIPT.
var _ = register(Kind{
	Name:         "script-flush",
	Summary:      "a server forgets its Lua scripts",
	Target:       "node",
	Traits:       func(Spec) history.Traits { return history.Traits{Instant: true, ForgetsScripts: true} },
	NeedsServers: true,
	RedisOnly:    func(Spec) string { return "scripts are Redis'" },
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w)
		return strings.Join(nodes, ", ") + " forgot its scripts", nil, once(nodes, w.FlushScripts)
	},
})
