package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
)

// detector gives up a run that does not end, and leaves it behind.
var detector = goroutines.Detector{Most: time.Minute}

// mostStalls is after how many runs that stall Exhaust stops.
const mostStalls = 3

// stalls counts the runs of Exhaust that never end. It tells the first one at once, and
// stops the search after [mostStalls].
type stalls struct {
	out    io.Writer
	stop   context.CancelFunc
	played int
	n      int
	first  string
	client bool // go-redis held the mutex of the first
}

// guard is an [exhaustive.Guard].
func (s *stalls) guard(run string, play func()) error {
	if s.enough() {
		return exhaustive.ErrEnough
	}
	s.played++
	stall := detector.Watch(play)
	if stall == nil {
		return nil
	}
	client := stall.Kind() == goroutines.ClientDeadlocked
	if s.n++; s.n == 1 {
		s.first, s.client = run+"\n"+stall.Short(), client
		fmt.Fprintf(s.out, "locktest: a run stalls. Exhaust stops after %d of them. The first is %s\n", mostStalls, s.first)
	}
	if s.enough() {
		s.stop()
	}
	if client {
		return fmt.Errorf("%w: %w", exhaustive.ErrNoJudgement, goroutines.ErrOfClient)
	}
	return errors.New(stall.Short())
}

// enough reports whether nothing more is to be played.
func (s *stalls) enough() bool { return s.n >= mostStalls }

// tell fails a test whose search was stopped, and logs what stalled in another.
func (s *stalls) tell(t *testing.T) {
	t.Helper()
	if s.n == 0 {
		return
	}
	advice := "Release the mutex of the lock before it waits for the network."
	if s.client {
		advice = "go-redis held a mutex of its own. docs/test-your-own-lock.md says how a lock with Pub/Sub avoids that."
	}
	if !s.enough() {
		t.Logf("%s of %d stalled, and Exhaust does not know how they end. %s\nThe first is %s", english.Count(s.n, "run"), s.played, advice, s.first)
		return
	}
	t.Errorf("Exhaust stopped after %s, because %d of them stalled. The other placements were not played.\n"+
		"%s Or choose other faults with locktest.Faults.\nThe first is %s", english.Count(s.played, "run"), s.n, advice, s.first)
}
