package faults

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
)

// holdRequest lets one request arrive late, after others that its client sent later over
// other connections. TCP does that when a client gives a connection up. The server
// executes the bytes that its socket already has, and no client waits for the reply. With
// the client's own retry a request is executed twice in this way.
//
// Anchored to the moment [Received], it holds the request of that moment;
// otherwise it holds the next one on each link.
var _ = register(Kind{
	Name:      "hold-request",
	Summary:   "one request, and what follows it on its connection, is executed late, even if the client has closed the connection",
	Target:    "link",
	Params:    []Param{{Name: "peer"}},
	Lasts:     true,
	LinksOnly: true,
	Traits: func(Spec) history.Traits {
		return history.Traits{Lasts: true, HoldsRequests: true, Cuts: true, Reorders: true}
	},
	NeedsRequests: true,
	RedisOnly:     func(Spec) string { return requestsUnknown },
	Draw:          func(d dice, s *Spec) { s.For, s.Peer = d.Lasts(), d.Peers() },
	Strike: onLinks(func(w World, links []Link, _ Spec, _ uint64) (string, func() error, error) {
		heal, err := eachLink(links, w.WithholdRequest)
		return "a request held between " + between(links), heal, err
	}),
})

// eachLink strikes all links or none. The returned heal undoes them in order.
func eachLink(links []Link, strike func(Link) (undo func(), err error)) (heal func() error, err error) {
	var undos []func()
	heal = func() error {
		for _, undo := range undos {
			undo()
		}
		return nil
	}
	for _, l := range links {
		undo, err := strike(l)
		if err != nil {
			_ = heal() // it cannot fail
			return nil, fmt.Errorf("%s to %s: %w", l.From, l.To, err)
		}
		undos = append(undos, undo)
	}
	return heal, nil
}
