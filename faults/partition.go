package faults

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// partition cuts links. TCP loses no byte in silence. So a partition holds all
// data, which arrives when it heals if the connection still lives.
var _ = register(Kind{
	Name:      "partition",
	Summary:   "no byte gets from one side to the other; what was sent arrives when the partition heals",
	Target:    "link",
	anyLink:   true,
	Params:    []Param{{Name: "peer"}, {Name: "direction", Words: directionWords}},
	Lasts:     true,
	LinksOnly: true,
	Plural:    "partitions",
	Traits: func(s Spec) history.Traits {
		requests, replies := held(s)
		return history.Traits{Lasts: true, HoldsRequests: requests, HoldsReplies: replies, Cuts: true, Reorders: requests}
	},
	Draw: func(d dice, s *Spec) {
		s.For = d.Lasts()
		s.Peer = d.Peers()
		s.Direction = drawDirection(d)
	},
	Strike: onLinks(func(w World, links []Link, s Spec, _ uint64) (string, func() error, error) {
		how := map[string]string{"to-node": " (only requests are held)", "to-client": " (only replies are held)"}[s.Direction]
		hold := new(toxics.Hold)
		heal, err := on(w, links, directions(s), hold)
		return fmt.Sprintf("cut between %s%s", between(links), how), heal, err
	}),
})
