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

// stallDetector detects a worker whose simulated time stands still. Time passes
// when all goroutines wait, but not while one waits for a mutex. So a mutex that
// is held across a wait for the network stops time for good, and nothing happens
// in the process any more. go-redis holds such a mutex when a cluster client asks
// for the table of commands.
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

// watch ends the process, with the stacks of its goroutines on stderr, once a run
// has used no processor for a second. It works on a busy machine, too: watch gets
// its turn ten times while no other goroutine uses its own. It also ends the
// process once a run has used most of processor time. If the system does not
// report the processor time, watch returns, and only the stall limit of the pool
// ends such a run.
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
