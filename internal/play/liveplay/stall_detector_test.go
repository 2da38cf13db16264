package liveplay

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A harness that did not get its turn reports so, or the delay would be the lock's fault.
func TestPulseFindsTheWorstStall(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		play func(stall func(time.Duration))
		want time.Duration
	}{
		{"none", func(func(time.Duration)) { time.Sleep(time.Second) }, 0},
		{"shorter than a beat", func(func(time.Duration)) { time.Sleep(2 * ms) }, 0},
		{"two", func(stall func(time.Duration)) {
			time.Sleep(time.Second)
			stall(40 * ms)
			time.Sleep(time.Second)
			stall(20 * ms)
			time.Sleep(time.Second)
		}, 40 * ms},
		{"at the end", func(stall func(time.Duration)) {
			time.Sleep(time.Second + 2*ms)
			stall(80 * ms)
		}, 2*ms + 80*ms - lookEvery},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stalled atomic.Int64
				p := startStallDetector(func() time.Time { return time.Now().Add(time.Duration(stalled.Load())) })
				c.play(func(d time.Duration) { stalled.Add(int64(d)) })
				if got := p.stop(); got != c.want {
					t.Errorf("a harness that was late by %s is said to be late by %s", c.want, got)
				}
			})
		})
	}
}
