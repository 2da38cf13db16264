package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// replicationLag lets replicas fall behind: what the primary has confirmed to
// its clients reaches them late. Acknowledgements of the replicas are not
// delayed.
var replicationLag = Kind{
	Name:    "replication-lag",
	Summary: "what a primary writes reaches its replicas late",
	Target:  "node",
	Params:  []string{"by", "jitter"},
	Lasts:   true,
	Available: func(s Spec, t Topology) error {
		if err := positive("by", s.By, "500ms"); err != nil {
			return err
		}
		if s.Jitter < 0 || s.Jitter > s.By {
			return errors.New(`"jitter" must lie between 0 and "by"`)
		}
		return needsReplicas(s, t)
	},
	New: func(s Spec, t Topology, seed uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			links := replication(s, t, w)
			d := &Delay{By: time.Duration(s.By), Jitter: time.Duration(s.Jitter), Seed: seed}
			heal, err := d.on(w, links, []stream.Direction{stream.Downstream}, d)
			return fmt.Sprintf("replication %s late between %s", s.By, between(links)), heal, err
		}), nil
	},
}
