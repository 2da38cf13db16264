package workers

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// exitStalled is how a worker process ends itself that cannot go on.
const exitStalled = 70

// stallDetector is what is looked for in a worker: simulated time passes when
// everybody waits, but not for somebody who waits for a mutex, so a mutex that
// is held across a wait for the network stops it for good. Nothing then happens
// in the process any more. (go-redis does so when a cluster client asks for the
// table of commands.)
type stallDetector struct {
	playing atomic.Int64 // number of the run under way; 0 for none
	runs    int64
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
// nobody else has anything to do. Where the system does not tell the processor
// time, watch returns, and only the pool's stall ends such a run.
func (s *stallDetector) watch(stderr io.Writer) {
	const looks, idle = 10, 3 * time.Millisecond
	run, since, used := int64(0), 0, time.Duration(0)
	for range time.Tick(100 * time.Millisecond) {
		cpu, err := processorTime()
		if err != nil {
			return
		}
		now := s.playing.Load()
		if since++; now == 0 || now != run || cpu-used > idle {
			run, since, used = now, 0, cpu
			continue
		}
		if since < looks {
			continue
		}
		fmt.Fprintln(stderr, "nothing happens any more:")
		pprof.Lookup("goroutine").WriteTo(stderr, 2)
		os.Exit(exitStalled)
	}
}
