package faults

import (
	"context"
	"strings"
)

// crash ends client processes as SIGKILL or a power cut does: nothing is
// released, nothing is said.
var crash = Kind{
	Name:    "crash",
	Summary: "a client process dies at once, without releasing anything",
	Target:  "client",
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			return strings.Join(s.Target, ", ") + " crashed", nil, once(resolve(s.Target, w), w.Crash)
		}), nil
	},
}
