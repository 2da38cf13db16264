package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// clockJump moves the clock of servers, as an operator, a step of NTP or a resumed
// virtual machine does. Redis measures leases with that clock. A jump ends a drift of the
// same clock. Of a client it moves the wall clock alone: monotonic time does not jump.
var _ = register(Kind{
	Name:    "clock-jump",
	Summary: "a server's clock jumps forward (leases end early) or back (they end late), or a client's wall clock jumps",
	Target:  "node",
	Clients: true,
	Params:  []Param{{Name: "by"}, {Name: "mode", Words: []string{claimed}}},
	Plural:  "clock jumps",
	Traits: func(s Spec) history.Traits {
		return history.Traits{Instant: true, MovesClock: !ofClients(s), MovesClientClock: ofClients(s), ClockJump: int64(s.By)}
	},
	NeedsServers: true,
	RedisOnly:    unknownClocks,
	Variant: func(s Spec) string {
		if s.By < 0 {
			return "back"
		}
		return ""
	},
	Sweep: &sweep{
		Param: "clock-jump", Summary: "how far the clock jumps, in the clock-jump faults",
		Noun: "a clock jump of %s", Label: "clock jump", Signed: true,
		Set: func(s *Spec, by Duration) { s.By, s.Mode = by, "" },
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
		return checkClocks(s)
	},
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w)
		where := "forward"
		by := time.Duration(s.By)
		if by < 0 {
			where = "back"
		}
		return fmt.Sprintf("the clock of %s jumped %s by %s", strings.Join(nodes, ", "), where, by.Abs()), nil,
			once(nodes, func(node string) error { return w.SetClock(node, by, 1) })
	},
})

// claimed is the mode of a clock-jump that goes no farther than the lock claims to bear. A
// longer one would excuse whatever follows.
const claimed = "claimed"

func (s Spec) claimed(most time.Duration) Spec {
	if s.Mode == claimed && most > 0 {
		s.By = min(max(s.By, -Duration(most)), Duration(most))
	}
	return s
}

// clockDrift makes the clock of servers run fast or slow. At its end the clock
// runs at true speed again, but keeps its error.
var _ = register(Kind{
	Name:    "clock-drift",
	Summary: "the clock of a server, or the wall clock of a client, runs fast or slow",
	Target:  "node",
	Clients: true,
	Params:  []Param{{Name: "rate"}},
	Lasts:   true,
	Traits: func(s Spec) history.Traits {
		return history.Traits{Lasts: true, MovesClock: !ofClients(s), MovesClientClock: ofClients(s), ClockRate: s.Rate}
	},
	NeedsServers: true,
	RedisOnly:    unknownClocks,
	Draw: func(d dice, s *Spec) {
		s.Rate = []float64{0.5, 0.8, 0.95, 1.05, 1.2, 1.5, 2}[d.Number(0, 6)]
		s.For = d.Lasts()
	},
	Available: func(s Spec, _ Topology) error {
		if s.Rate <= 0 || s.Rate == 1 {
			return errors.New(`needs "rate", greater than 0 and not 1: 1.05 runs 5 % fast, 0.95 runs 5 % slow`)
		}
		return checkClocks(s)
	},
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		nodes := resolve(s.Target, w)
		heal, err := each(nodes, func(node string) (func() error, error) {
			return func() error { return w.SetClock(node, 0, 1) }, w.SetClock(node, 0, s.Rate)
		})
		return fmt.Sprintf("the clock of %s runs at %g times real speed", strings.Join(nodes, ", "), s.Rate), heal, err
	},
})

// ofClients reports whether a fault strikes the clocks of clients.
func ofClients(s Spec) bool { return slices.ContainsFunc(s.Target, party.IsClient) }

// checkClocks returns nil, or the reason why no world moves the clocks of the targets. The
// traits of a fault say whose clock it moves, so it moves those of one kind of party.
func checkClocks(s Spec) error {
	if ofClients(s) && slices.ContainsFunc(s.Target, func(name string) bool { return !party.IsClient(name) }) {
		return errors.New("strikes clocks of servers or of clients, not of both: write two faults")
	}
	return nil
}

// unknownClocks returns the reason against a fault on a lock with its own servers, or "". Only
// the clocks of its clients move.
func unknownClocks(s Spec) string {
	if ofClients(s) {
		return ""
	}
	return clocksUnknown
}
