package faults

import (
	"cmp"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The commands that a server can refuse. The first is the default.
const (
	denyChannels = "channels"
	denyExpiry   = "expiry"
	denyMemory   = "memory"
)

// denied lists the commands of the modes that are rights. A user that Redis 7 makes by
// default has no channels.
var denied = map[string][]string{
	denyChannels: {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "PUBLISH", "SPUBLISH"},
	denyExpiry:   {"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"},
}

// deny makes servers answer some commands of clients with an error, also within a script,
// which may have written by then. Clients lack a right, or the server has no memory.
var _ = register(Kind{
	Name:    "deny",
	Summary: "a server refuses commands, also within a script: those on channels, those that set an expiry, or those that need memory",
	Target:  "node",
	Params:  []Param{{Name: "mode", Words: []string{denyChannels, denyExpiry, denyMemory}}},
	Lasts:   true,
	Traits: func(s Spec) history.Traits {
		channels := s.Mode == "" || s.Mode == denyChannels
		return history.Traits{Lasts: true, LosesNotices: channels || s.Mode == unknown, RefusesGrants: !channels}
	},
	NeedsServers: true,
	NeedsUser:    true,
	RedisOnly:    func(Spec) string { return "the commands are Redis'" },
	Undrawn:      true,
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		mode := cmp.Or(s.Mode, denyChannels)
		nodes := resolve(s.Target, w)
		heal, err := each(nodes, func(node string) (func() error, error) {
			if mode == denyMemory {
				return w.FillMemory(node)
			}
			return w.Deny(node, denied[mode])
		})
		what := map[string]string{denyChannels: "no right to channels", denyExpiry: "no right to set an expiry", denyMemory: "no memory left"}[mode]
		return what + " on " + strings.Join(nodes, ", "), heal, err
	},
})
