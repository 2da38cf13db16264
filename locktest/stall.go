package locktest

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
)

// detector gives up a run that does not end, and leaves it behind.
var detector = goroutines.Detector{Most: time.Minute}

// guarded plays a run. Its error is a [*goroutines.Stall] for one that does not end.
func guarded(run func() (*play.Played, error)) (*play.Played, error) {
	type answer struct {
		played *play.Played
		err    error
	}
	done := make(chan answer, 1) // a run that is left behind may still end
	if stall := detector.Watch(func() {
		p, err := run()
		done <- answer{p, err}
	}); stall != nil {
		return nil, stall
	}
	a := <-done
	return a.played, a.err
}
