package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The clock of a client excuses nothing, but for a lock that claims to need synchronized
// clocks, and only beyond what it claims to bear.
func TestClocksOfClientsExcuseOnlyWhoNeedsThem(t *testing.T) {
	const overlap = `
		0    c1 acquire lease=1000; 2 ok count=1
		100  fault start 1 clock-jump c2
		200  c2 acquire lease=1000; 202 ok count=1
		300  c1 release; 301 ok
		310  c2 release; 312 ok`
	jump := history.Traits{Instant: true, MovesClientClock: true, ClockJump: int64(time.Minute)}
	drift := history.Traits{Lasts: true, MovesClientClock: true, ClockRate: 2}
	for _, tt := range []struct {
		what     string
		traits   history.Traits
		within   time.Duration
		second   string // a fault, at this time and place
		inherent bool
	}{
		{"no claim", jump, 0, "", false},
		{"a jump that the lock bears", jump, time.Minute, "", false},
		{"a jump beyond it", jump, time.Minute - 1, "", true},
		{"a drift that the lock bears", drift, 300 * time.Millisecond, "", false},
		{"a drift beyond it", drift, 100 * time.Millisecond, "", true},
		{"two clocks that differ", jump, 90 * time.Second, "200  c2 acquire", true},
		{"two clocks that differ after the overlap", jump, 90 * time.Second, "312  c2 ok", false},
	} {
		text, faults := overlap, 1
		if tt.second != "" {
			text, faults = strings.Replace(overlap, tt.second, tt.second[:3]+" fault start 2 clock-jump c1\n"+tt.second, 1), 2
		}
		h := story(t, leased(func(h *history.Header) {
			h.Claims.SynchronizedClocks = tt.within
			back := jump
			back.ClockJump = -back.ClockJump
			h.Faults = []history.PlannedFault{{ID: 1, Fault: "clock-jump", Traits: tt.traits}, {ID: 2, Fault: "clock-jump", Traits: back}}[:faults]
		}), text+"\n312 end")
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[Exclusion]; v.Outcome != Violated || v.Inherent != "" != tt.inherent {
			t.Errorf("%s: exclusion: %+v", tt.what, v)
		} else if !strings.Contains(v.Reason, "the clock of client-2 ") || strings.Contains(v.Reason, "the clock of client-1 ") != strings.HasPrefix(tt.second, "200") {
			t.Errorf("%s: the reason names other clocks than those that were wrong: %s", tt.what, v.Reason)
		}
	}
}
