package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/history"
)

// clockDrift lets the clock of servers run fast or slow. When it ends the clock
// runs true again, but keeps the time it has gained or lost.
var _ = register(Kind{
	Name:    "clock-drift",
	Summary: "a server's clock runs fast or slow",
	Target:  "node",
	Params:  []Param{{Name: "rate"}},
	Lasts:   true,
	Traits: func(s Spec) history.Traits {
		return history.Traits{Lasts: true, MovesClock: true, ClockRate: s.Rate}
	},
	NeedsServers: true,
	RedisOnly:    func(Spec) string { return clocksUnknown },
	Draw: func(d Dice, s *Spec) {
		s.Rate = []float64{0.5, 0.8, 0.95, 1.05, 1.2, 1.5, 2}[d.Number(0, 6)]
		s.For = d.Lasts()
	},
	Available: func(s Spec, _ Topology) error {
		if s.Rate <= 0 || s.Rate == 1 {
			return errors.New(`needs "rate", greater than 0 and not 1: 1.05 runs 5 % fast, 0.95 runs 5 % slow`)
		}
		return nil
	},
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			nodes := resolve(s.Target, w)
			heal, err := each(nodes, func(node string) (func() error, error) {
				return func() error { return w.SetClock(node, 0, 1) }, w.SetClock(node, 0, s.Rate)
			})
			return fmt.Sprintf("the clock of %s runs at %g times real speed", strings.Join(nodes, ", "), s.Rate), heal, err
		}), nil
	},
})
