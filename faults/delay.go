package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// delay makes links slow; the order of bytes is kept, as TCP keeps it.
var delay = Kind{
	Name:    "delay",
	Summary: "everything on a link arrives late, by a fixed time plus or minus a jitter",
	Target:  "link",
	Params:  []string{"peer", "by", "jitter", "direction"},
	Lasts:   true,
	Available: func(s Spec, t Topology) error {
		if err := positive("by", s.By, "200ms"); err != nil {
			return err
		}
		if s.Jitter < 0 || s.Jitter > s.By {
			return errors.New(`"jitter" must lie between 0 and "by"`)
		}
		if err := oneOf("direction", s.Direction, "both", "to-node", "to-client"); err != nil {
			return err
		}
		return checkLinks(s, t, false)
	},
	New: func(s Spec, t Topology, seed uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			links, err := linksOf(s, t, w)
			if err != nil {
				return "", nil, err
			}
			d := &Delay{By: time.Duration(s.By), Jitter: time.Duration(s.Jitter), Seed: seed}
			heal, err := d.on(w, links, directions(s), d)
			return fmt.Sprintf("%s more between %s", s.By, between(links)), heal, err
		}), nil
	},
}
