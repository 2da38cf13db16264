package workers

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/processor"
)

// How a worker process ends itself.
const (
	exitStalled  = 70 // it cannot go on
	exitSpinning = 71 // a run took more processor time than the pool allows
)

// stallVariable is the environment variable with the processor time that a run may
// take.
const stallVariable = "HOLDFAST_STALL"

// stallDetector is what is looked for in a worker: simulated time passes when
// everybody waits, but not for somebody who waits for a mutex, so a mutex that
// is held across a wait for the network stops it for good. Nothing then happens
// in the process any more. (go-redis does so when a cluster client asks for the
// table of commands.)
type stallDetector struct {
	playing atomic.Int64 // number of the run under way; 0 for none
	runs    int64
	most    time.Duration // processor time of a run; 0 for no bound
}

// playJob calls run, which never waits for anything outside the process.
func (s *stallDetector) play(run func()) {
	s.runs++
	s.playing.Store(s.runs)
	defer s.playing.Store(0)
	run()
}

// watch ends the process, with the stacks of its goroutines on stderr, once a
// run has used no processor for a second. On a busy machine as well: that
// watch gets its turn ten times, and nobody else has used theirs, means that
// nobody else has anything to do. It also ends the process once a run has used most
// of processor time. Where the system does not tell the processor time, watch
// returns, and only the pool's stall ends such a run.
func (s *stallDetector) watch(stderr io.Writer) {
	const looks, idle = 10, 3 * time.Millisecond
	run, since, used := int64(0), 0, time.Duration(0)
	latest, began := int64(0), time.Duration(0)
	for range time.Tick(100 * time.Millisecond) {
		cpu, err := processor.Time()
		if err != nil {
			return
		}
		now := s.playing.Load()
		if now != latest {
			latest, began = now, cpu
		}
		if now != 0 && s.most > 0 && cpu-began > s.most {
			end(stderr, "the run goes on and on:", exitSpinning)
		}
		if since++; now == 0 || now != run || cpu-used > idle {
			run, since, used = now, 0, cpu
			continue
		}
		if since < looks {
			continue
		}
		end(stderr, "nothing happens any more:", exitStalled)
	}
}

// end ends the process, with the stacks of its goroutines on stderr.
func end(stderr io.Writer, why string, code int) {
	fmt.Fprintln(stderr, why)
	pprof.Lookup("goroutine").WriteTo(stderr, 2)
	os.Exit(code)
}
