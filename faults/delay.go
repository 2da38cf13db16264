package faults

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// delay makes links slow. It keeps the order of bytes, as TCP does.
var _ = register(Kind{
	Name:      "delay",
	Summary:   "everything on a link arrives late, by a fixed time plus or minus a jitter",
	Target:    "link",
	anyLink:   true,
	Params:    []Param{{Name: "peer"}, {Name: "by"}, {Name: "jitter"}, {Name: "direction", Words: directionWords}},
	Lasts:     true,
	LinksOnly: true,
	Traits: func(s Spec) history.Traits {
		requests, replies := held(s)
		return history.Traits{Lasts: true, HoldsRequests: requests, HoldsReplies: replies, Reorders: requests}
	},
	Sweep: &sweep{
		Param: "delay", Summary: "how late messages are: by of the delay faults, or the latency where there are none",
		Noun: "a message delay of %s", Label: "message delay", Otherwise: Latency, Set: setBy,
	},
	Draw: func(d dice, s *Spec) {
		s.By, s.For = d.Between(5*time.Millisecond, d.Lease()/3), d.Lasts()
		if d.Chance(4) {
			s.By = d.Between(d.Lease()/3, 3*d.Lease()/2)
		}
		if d.Chance(2) {
			s.Jitter = d.Between(0, time.Duration(s.By))
		}
		s.Peer = d.Peers()
		s.Direction = drawDirection(d)
	},
	Available: func(s Spec, _ Topology) error { return checkJitter(s, "200ms") },
	Strike: onLinks(func(w World, links []Link, s Spec, seed uint64) (string, func() error, error) {
		d := &toxics.Delay{By: time.Duration(s.By), Jitter: time.Duration(s.Jitter), Seed: seed}
		heal, err := on(w, links, directions(s), d)
		return fmt.Sprintf("%s more between %s", s.By, between(links)), heal, err
	}),
})
