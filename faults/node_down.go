package faults

import (
	"errors"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// nodeCrash kills servers, without a promotion. At the end of the fault they
// start again with their data.
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
	Draw:         func(d dice, s *Spec) { s.For = d.Lasts() },
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w)
		heal, err := each(nodes, func(node string) (func() error, error) {
			return func() error { return w.StartNode(node, true) }, w.StopNode(node)
		})
		return strings.Join(nodes, ", ") + " crashed", heal, err
	},
})

// The data of a restarted server.
const (
	keepData = "keep"
	loseData = "lose"
)

// nodeRestart stops servers and starts them again, after For or at once. They keep their
// data (append-only file, fsync always) or lose it (no persistence, or none yet).
var _ = register(Kind{
	Name:    "node-restart",
	Summary: "a server restarts, keeping its data or losing it; \"for\" is the time for which it is down",
	Target:  "node",
	Params:  []Param{{Name: "data", Words: []string{keepData, loseData}}},
	Lasts:   true,
	Plural:  "restarts",
	Traits: func(s Spec) history.Traits {
		return history.Traits{
			Instant: true, StopsNode: true, Refuses: true, BreaksConnections: true, ForgetsScripts: true, LosesWrites: s.Data != keepData,
		}
	},
	NeedsServers: true,
	RedisOnly: func(s Spec) string {
		if s.Data == loseData {
			return "a member that has lost what it agreed to does not start again: another takes its place"
		}
		return ""
	},
	Variant: func(s Spec) string {
		if s.Data == loseData {
			return "without-data"
		}
		return ""
	},
	Draw: func(d dice, s *Spec) {
		s.Data = keepData
		if !d.Survivable() && !d.Chance(3) {
			s.Data = loseData
		}
		if d.Chance(2) {
			s.For = d.Lasts()
		}
	},
	Available: func(s Spec, _ Topology) error {
		if s.Data == "" {
			return errors.New(`needs "data": keep or lose`)
		}
		return nil
	},
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		kept := s.Data == keepData
		nodes := resolve(s.Target, w)
		heal, err := each(nodes, func(node string) (func() error, error) {
			return func() error { return w.StartNode(node, kept) }, w.StopNode(node)
		})
		with := " without its data"
		if kept {
			with = " with its data"
		}
		list := strings.Join(nodes, ", ")
		if err != nil || s.For > 0 {
			return list + " stopped, to start again" + with, heal, err
		}
		return list + " restarted" + with, nil, heal()
	},
})
