package liveplay

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/subject"
)

// stallDetector finds out whether the machine gave the harness its turn in time while
// a run was played. A judge cannot tell a slow machine from a slow lock, so a
// run in which the machine stood still is worth nothing, whatever its verdict.
type stallDetector struct {
	quit  chan struct{}
	done  sync.WaitGroup
	worst time.Duration // how late a beat came; read it after stop
}

// lookEvery is how often the harness wants its turn.
const lookEvery = 10 * time.Millisecond

// stallAllowed is how late a beat may be in a run at a scale: as much as the
// judges allow a machine.
func stallAllowed(scale float64) time.Duration {
	return max(subject.Scaled(300*time.Millisecond, scale), 150*time.Millisecond)
}

// bearable is what a lock can make good: the reference lock tells its holder of
// the end of a lease a hundredth of it before. A verdict that is not as
// expected means nothing when more than that was taken away.
func bearable(scale float64) time.Duration {
	return max(subject.Scaled(100*time.Millisecond, scale), 20*time.Millisecond)
}

// startStallDetector starts one that goes by a clock, such as [time.Now].
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

// stop ends it and returns how late the latest beat was.
func (p *stallDetector) stop() time.Duration {
	close(p.quit)
	p.done.Wait()
	return p.worst
}
