package faults

import (
	"context"
	"strings"
)

// pause freezes client processes, as a long garbage collection, a suspended
// virtual machine or SIGSTOP does. A paused holder does not know that time
// passes.
var pause = Kind{
	Name:    "pause",
	Summary: "a client process freezes (GC pause, suspended VM) and goes on later as if nothing had happened",
	Target:  "client",
	Lasts:   true,
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			heal, err := each(resolve(s.Target, w), func(client string) (func() error, error) {
				return func() error { return w.Resume(client) }, w.Pause(client)
			})
			return strings.Join(s.Target, ", ") + " paused", heal, err
		}), nil
	},
}
