package faults

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/faults/toxics"
	"github.com/holdfast-go/holdfast/history"
)

// dropMessage loses pub/sub deliveries. Redis delivers at most once: a
// subscriber that was reconnecting never sees the message.
var _ = register(Kind{
	Name:      "drop-message",
	Summary:   "pub/sub messages to a client are lost, everything else arrives",
	Target:    "link",
	Params:    []Param{{Name: "peer"}},
	Lasts:     true,
	Traits:    func(Spec) history.Traits { return history.Traits{Lasts: true, LosesNotices: true} },
	RedisOnly: func(Spec) string { return channelsOnly },
	Draw:      func(d Dice, s *Spec) { s.For = d.Between(500*time.Millisecond, 4*d.Lease()) },
	Available: func(s Spec, t Topology) error { return checkLinks(s, t, true) },
	New: func(s Spec, t Topology, _ uint64) (Fault, error) {
		return strikeLinks(s, t, func(w World, links []Link) (string, func() error, error) {
			drop := new(toxics.DropMessages)
			heal, err := on(w, links, []stream.Direction{stream.Downstream}, drop)
			return "pub/sub messages lost between " + between(links), heal, err
		}), nil
	},
})
