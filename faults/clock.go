package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// clockJump moves the clock of servers, as an operator, a step of NTP or a
// resumed virtual machine does. Redis measures leases with that clock. A jump
// ends a drift of the same clock.
var _ = register(Kind{
	Name:    "clock-jump",
	Summary: "a server's clock jumps forward (leases end early) or back (they end late)",
	Target:  "node",
	Params:  []Param{{Name: "by"}},
	Plural:  "clock jumps",
	Traits: func(s Spec) history.Traits {
		return history.Traits{Instant: true, MovesClock: true, ClockJump: int64(s.By)}
	},
	NeedsServers: true,
	RedisOnly:    func(Spec) string { return clocksUnknown },
	Variant: func(s Spec) string {
		if s.By < 0 {
			return "back"
		}
		return ""
	},
	Sweep: &sweep{
		Param: "clock-jump", Summary: "how far the clock jumps, in the clock-jump faults",
		Noun: "a clock jump of %s", Label: "clock jump", Signed: true,
		Set: func(s *Spec, by Duration) { s.By = by },
	},
	Draw: func(d dice, s *Spec) {
		s.By = d.Between(d.Lease()/4, 3*d.Lease())
		if d.Chance(4) {
			s.By = -s.By
		}
	},
	Available: func(s Spec, _ Topology) error {
		if s.By == 0 {
			return errors.New(`needs "by", how far the clock jumps, such as "10s" or "-10s"`)
		}
		return nil
	},
	New: func(s Spec, _ Topology, _ uint64) (Fault, error) {
		return strikeFunc(func(_ context.Context, w World) (string, func() error, error) {
			nodes := resolve(s.Target, w)
			where := "forward"
			by := time.Duration(s.By)
			if by < 0 {
				where = "back"
			}
			return fmt.Sprintf("the clock of %s jumped %s by %s", strings.Join(nodes, ", "), where, by.Abs()), nil,
				once(nodes, func(node string) error { return w.SetClock(node, by, 1) })
		}), nil
	},
})

// clockDrift makes the clock of servers run fast or slow. At its end the clock
// runs at true speed again, but keeps its error.
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
	Draw: func(d dice, s *Spec) {
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
