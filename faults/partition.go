package faults

import (
	"context"
	"fmt"
)

// partition cuts links. TCP loses no byte in silence: what is sent meanwhile
// is held, and arrives when the partition heals if the connection still lives.
var partition = Kind{
	Name:    "partition",
	Summary: "no byte gets from one side to the other; what was sent arrives when the partition heals",
	Target:  "link",
	Params:  []string{"peer", "direction"},
	Lasts:   true,
	Available: func(s Spec, t Topology) error {
		if err := oneOf("direction", s.Direction, "both", "to-node", "to-client"); err != nil {
			return err
		}
		return checkLinks(s, t, false)
	},
	New: func(s Spec, t Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			links, err := linksOf(s, t, w)
			if err != nil {
				return "", nil, err
			}
			how := map[string]string{"to-node": " (only requests are held)", "to-client": " (only replies are held)"}[s.Direction]
			hold := new(Hold)
			heal, err := hold.on(w, links, directions(s), hold)
			return fmt.Sprintf("cut between %s%s", between(links), how), heal, err
		}), nil
	},
}
