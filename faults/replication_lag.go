package faults

import (
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// replicationLag delays replicas: writes that the primary has confirmed to its
// clients reach them late. It does not delay acknowledgements of the replicas.
var _ = register(Kind{
	Name:         "replication-lag",
	Summary:      "what a primary writes reaches its replicas late",
	Target:       "node",
	Params:       []Param{{Name: "by"}, {Name: "jitter"}},
	Lasts:        true,
	LinksOnly:    true,
	Traits:       func(Spec) history.Traits { return history.Traits{Lasts: true, HoldsReplication: true} },
	NeedsServers: true,
	Sweep: &sweep{
		Param: "lag", Summary: "how late replication is: by of the replication-lag faults, or all of it where there are none",
		Noun: "a replication lag of %s", Label: "replication lag", Otherwise: Lag, Set: setBy,
	},
	Draw: func(d dice, s *Spec) {
		s.By, s.For = d.Between(20*time.Millisecond, 2000*time.Millisecond), d.Lasts()
	},
	Available: func(s Spec, t Topology) error {
		if err := checkJitter(s, "500ms"); err != nil {
			return err
		}
		return needsReplicas(s, t)
	},
	Strike: func(w World, s Spec, t Topology, seed uint64) (string, func() error, error) {
		links := replication(s, t, w)
		d := &toxics.Delay{By: time.Duration(s.By), Jitter: time.Duration(s.Jitter), Seed: seed}
		heal, err := on(w, links, []stream.Direction{stream.Downstream}, d)
		return fmt.Sprintf("replication %s late between %s", s.By, between(links)), heal, err
	},
})
