package faults

import (
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// dropMessage loses pub/sub deliveries. Redis delivers at most once: a
// subscriber that was reconnecting never sees the message.
var _ = register(Kind{
	Name:      "drop-message",
	Summary:   "pub/sub messages to a client are lost, everything else arrives",
	Target:    "link",
	Params:    []Param{{Name: "peer"}},
	Lasts:     true,
	LinksOnly: true,
	Traits:    func(Spec) history.Traits { return history.Traits{Lasts: true, LosesNotices: true} },
	RedisOnly: func(Spec) string { return channelsOnly },
	Draw:      func(d dice, s *Spec) { s.For = d.Between(500*time.Millisecond, 4*d.Lease()) },
	Strike: onLinks(func(w World, links []Link, s Spec, _ uint64) (string, func() error, error) {
		drop := new(toxics.DropMessages)
		heal, err := on(w, links, []stream.Direction{stream.Downstream}, drop)
		return "pub/sub messages lost between " + between(links), heal, err
	}),
})

// slowSubscribe delays subscriptions. A lock must try again once its subscription
// is active. Otherwise its waiter sleeps through a release in the meantime.
var _ = register(Kind{
	Name:      "slow-subscribe",
	Summary:   "a client's SUBSCRIBE reaches the server late",
	Target:    "link",
	Params:    []Param{{Name: "peer"}, {Name: "by"}},
	Lasts:     true,
	LinksOnly: true,
	Traits:    func(Spec) history.Traits { return history.Traits{Lasts: true, HoldsSubscriptions: true} },
	RedisOnly: func(Spec) string { return channelsOnly },
	Draw: func(d dice, s *Spec) {
		s.By, s.For = d.Between(50*time.Millisecond, 1500*time.Millisecond), d.Between(500*time.Millisecond, 2*d.Lease())
	},
	Available: func(s Spec, _ Topology) error { return positive("by", s.By, "500ms") },
	Strike: onLinks(func(w World, links []Link, s Spec, _ uint64) (string, func() error, error) {
		slow := &toxics.SlowSubscribe{By: time.Duration(s.By)}
		heal, err := on(w, links, []stream.Direction{stream.Upstream}, slow)
		return fmt.Sprintf("subscriptions %s late between %s", s.By, between(links)), heal, err
	}),
})
