package faults

import (
	"errors"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The parties of a connection that can be gone. The server is the default.
const (
	nodeGone   = "node-gone"
	clientGone = "client-gone"
	silent     = "silent" // the server; its client learns nothing
)

// halfOpen ends the connections of a link at one party, without notice to the
// other. The cause may be a firewall that forgot them, a machine without power,
// or a changed address. New connections work. When the fault ends, the other
// party learns that its connections are broken. A silent one is over at once, and each
// connection stays dead until its client gives it up.
var _ = register(Kind{
	Name:    "half-open",
	Summary: "the open connections of a link are gone on one side, and the other side does not know; new ones work",
	Target:  "link",
	Params:  []Param{{Name: "peer"}, {Name: "mode", Words: []string{nodeGone, clientGone, silent}}},
	Lasts:   true,
	Traits: func(s Spec) history.Traits {
		return history.Traits{
			Instant: s.Mode == silent, Lasts: s.Mode != silent, LosesReplies: true, LosesNotices: true, BreaksConnections: true,
			Reorders: s.Mode == clientGone || s.Mode == unknown,
		}
	},
	Variant: modeBut(nodeGone),
	Draw: func(d dice, s *Spec) {
		s.For, s.Peer = d.Lasts(), d.Peers()
		if d.Chance(3) {
			s.Mode = clientGone
		}
	},
	Available: func(s Spec, _ Topology) error {
		if s.Mode == silent && (s.For > 0 || s.Until != nil) {
			return errors.New(`mode silent is over at once: leave "for" and "until" out`)
		}
		return nil
	},
	Strike: onLinks(func(w World, links []Link, s Spec, _ uint64) (string, func() error, error) {
		gone, whose := func(l Link) string { return l.To }, "server's"
		if s.Mode == clientGone {
			gone, whose = func(l Link) string { return l.From }, "client's"
		}
		heal, err := eachLink(links, func(l Link) (func(), error) { return w.HalfOpen(l, gone(l)) })
		if s.Mode == silent {
			heal = nil
		}
		return "connections half open between " + between(links) + ": the " + whose + " end is gone", heal, err
	}),
})
