package checker

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
)

// excuseClocks marks a violation as inherent if the clocks of clients had differed by more
// than the lock claims to bear. From that moment all its promises are off: a time that it
// has stored by a wrong clock may matter as long as it likes. A lock without the claim
// depends on no clock of a client, and has no such excuse.
func (t *trace) excuseClocks(v Verdict) Verdict {
	within := t.claims.SynchronizedClocks
	if within == 0 || v.Outcome != Violated || v.Inherent != "" {
		return v
	}
	from, apart := clocksApart(t.h, int64(within))
	if ms(from) > v.AtMS {
		return v
	}
	return inherently(v, fmt.Sprintf("from %s on the clocks of clients differed by up to %s, and the lock claims to bear %s", at(from), time.Duration(apart), within))
}

// nameClocks adds to the reason of a violation the clocks of clients that were wrong by then.
func (t *trace) nameClocks(v Verdict) Verdict {
	if v.Outcome != Violated {
		return v
	}
	for _, x := range t.h.Strikes() {
		if x.Failed() || !x.MovesClientClock || ms(x.From) > v.AtMS {
			continue
		}
		wrong := fmt.Sprintf("ran at %g times real speed from", x.ClockRate)
		switch jump := time.Duration(x.ClockJump); {
		case jump < 0:
			wrong = fmt.Sprintf("had jumped back by %s at", -jump)
		case jump > 0:
			wrong = fmt.Sprintf("had jumped forward by %s at", jump)
		}
		v.Reason += fmt.Sprintf("; the clock of %s %s %s", english.And(x.Targets), wrong, at(x.From))
	}
	return v
}

// clocksApart is the time from which two clocks differed by more than a bound, and by how
// much; never if they did not. One of the two may be right. A drift has its whole error from
// its start.
func clocksApart(h *history.History, within int64) (from, apart int64) {
	off := map[string]int64{} // of clients
	for _, x := range h.Strikes() {
		if x.Failed() || !x.MovesClientClock {
			continue
		}
		moved := x.ClockJump
		if x.ClockRate != 0 {
			moved = int64((x.ClockRate - 1) * float64(x.To-x.From))
		}
		for _, target := range x.Targets {
			for _, name := range names(target) {
				if party.IsClient(name) {
					off[name] += moved
				}
			}
		}
		lo, hi := int64(0), int64(0)
		for _, o := range off {
			lo, hi = min(lo, o), max(hi, o)
		}
		if hi-lo > within {
			return x.From, hi - lo
		}
	}
	return never, 0
}
