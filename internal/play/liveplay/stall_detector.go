package liveplay

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// stallDetector detects whether the machine delayed the harness during a run. A
// judge cannot tell a slow machine from a slow lock, so such a run proves nothing,
// whatever its verdict.
type stallDetector struct {
	quit  chan struct{}
	done  sync.WaitGroup
	worst time.Duration // how late a beat came; read it after stop
}

// lookEvery is the interval of the harness' checks.
const lookEvery = 10 * time.Millisecond

// stallAllowed is the allowed delay of a check in a run at a scale: the judges'
// allowance for a machine.
func stallAllowed(scale float64) time.Duration {
	return max(locks.Scaled(300*time.Millisecond, scale), 150*time.Millisecond)
}

// bearable is the delay that a lock can make good: the reference lock notifies its
// holder a hundredth of the lease before its end. After a longer delay an
// unexpected verdict means nothing.
func bearable(scale float64) time.Duration {
	return max(locks.Scaled(100*time.Millisecond, scale), 20*time.Millisecond)
}

// startStallDetector starts a detector with a clock, such as [time.Now].
func startStallDetector(now func() time.Time) *stallDetector {
	p := &stallDetector{quit: make(chan struct{})}
	p.done.Go(func() {
		t := time.NewTimer(lookEvery)
		defer t.Stop()
		last := now()
		for quit := false; !quit; {
			t.Reset(lookEvery)
			select {
			case <-t.C:
			case <-p.quit: // perhaps in the middle of a stall
				quit = true
			}
			at := now()
			p.worst = max(p.worst, at.Sub(last)-lookEvery)
			last = at
		}
	})
	return p
}

// stop ends it and returns the longest delay of a check.
func (p *stallDetector) stop() time.Duration {
	close(p.quit)
	p.done.Wait()
	return p.worst
}
