package faults

import (
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// holdReply loses replies. Requests arrive and are executed, but no reply comes back, and
// at the end the connections break. So the client cannot know the outcome.
var _ = register(Kind{
	Name:      "hold-reply",
	Summary:   "requests are executed but their replies are lost, then the connections break",
	Target:    "link",
	Params:    []Param{{Name: "peer"}},
	Lasts:     true,
	LinksOnly: true,
	Traits: func(Spec) history.Traits {
		return history.Traits{Lasts: true, LosesReplies: true, BreaksConnections: true}
	},
	Draw: func(d dice, s *Spec) {
		s.For = d.Between(100*time.Millisecond, 3000*time.Millisecond)
		s.Peer = d.Peers()
	},
	Strike: onLinks(func(w World, links []Link, _ Spec, _ uint64) (string, func() error, error) {
		detach, err := attach(w, links, []stream.Direction{stream.Downstream}, new(toxics.Blackhole))
		if err != nil {
			return "", nil, err
		}
		// The connections break before the toxic is removed, because a stream
		// with a hole in it must not continue.
		heal := func() error {
			err := resetAll(w, links)
			detach()
			return err
		}
		return fmt.Sprintf("replies lost between %s", between(links)), heal, nil
	}),
})
