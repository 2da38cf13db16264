package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// clockJump moves the clock of servers, as an operator, a step of NTP or a
// resumed virtual machine does. Redis counts leases on that clock. A jump ends
// a drift of the same clock.
var clockJump = Kind{
	Name:    "clock-jump",
	Summary: "a server's clock jumps forward (leases end early) or back (they end late)",
	Target:  "node",
	Params:  []string{"by"},
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
}
