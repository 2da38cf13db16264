package faults

import "github.com/holdfast-go/holdfast/checker/history"

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

// eachLink is each for links. It cannot fail to heal them.
func eachLink(links []Link, strike func(Link) (undo func(), err error)) (heal func() error, err error) {
	return eachOf(links, func(l Link) string { return l.From + " to " + l.To }, func(l Link) (func() error, error) {
		undo, err := strike(l)
		return func() error { undo(); return nil }, err
	})
}
