package faults

import (
	"context"
	"errors"
	"strings"
)

// nodeRestart stops servers and starts them again, after For or at once, with
// the data they had (append-only file, fsync always) or empty (no persistence,
// or persistence that had not written yet).
var nodeRestart = Kind{
	Name:    "node-restart",
	Summary: "a server restarts, keeping its data or losing it; \"for\" is how long it is down",
	Target:  "node",
	Params:  []string{"data"},
	Lasts:   true,
	Available: func(s Spec, _ Topology) error {
		if s.Data == "" {
			return errors.New(`needs "data": keep or lose`)
		}
		return oneOf("data", s.Data, "keep", "lose")
	},
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			keep := s.Data == "keep"
			nodes := resolve(s.Target, w)
			heal, err := each(nodes, func(node string) (func() error, error) {
				return func() error { return w.StartNode(node, keep) }, w.StopNode(node)
			})
			with := " without its data"
			if keep {
				with = " with its data"
			}
			list := strings.Join(nodes, ", ")
			if err != nil || s.For > 0 {
				return list + " stopped, to start again" + with, heal, err
			}
			return list + " restarted" + with, nil, heal()
		}), nil
	},
}
