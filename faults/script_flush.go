package faults

import (
	"context"
	"strings"
)

// scriptFlush empties the script cache of servers, as SCRIPT FLUSH, a restart
// or a failover does: EVALSHA answers NOSCRIPT.
var scriptFlush = Kind{
	Name:    "script-flush",
	Summary: "a server forgets its Lua scripts",
	Target:  "node",
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			nodes := resolve(s.Target, w)
			return strings.Join(nodes, ", ") + " forgot its scripts", nil, once(nodes, w.FlushScripts)
		}), nil
	},
}
