package faults

import "github.com/holdfast-go/holdfast/checker/history"

// refuse rejects new connections, as a server at its limit of clients or a full
// backlog does. Open connections go on.
var _ = register(Kind{
	Name:      "refuse",
	Summary:   "new connections are refused; those that are open go on",
	Target:    "link",
	Params:    []Param{{Name: "peer"}},
	Lasts:     true,
	LinksOnly: true,
	Traits:    func(Spec) history.Traits { return history.Traits{Lasts: true, Refuses: true} },
	Draw:      func(d dice, s *Spec) { s.For, s.Peer = d.Lasts(), d.Peers() },
	Strike: onLinks(func(w World, links []Link, _ Spec, _ uint64) (string, func() error, error) {
		heal, err := eachLink(links, w.Refuse)
		return "new connections refused between " + between(links), heal, err
	}),
})
