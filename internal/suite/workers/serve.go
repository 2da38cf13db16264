package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Worker processes play the runs, one per core and each on one core. That is
// several times faster than one process on all cores. A lock under test that takes
// its process down takes only one run with it. A worker reads jobs from stdin and
// writes an answer for each to stdout, as JSON lines.

// Self is this program, to be started in another role.
func Self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own executable: %w", err)
	}
	return exe, nil
}

// exitStalled is the exit code of a worker process that has answered for a run that
// does not end.
const exitStalled = 70

// stallVariable is the environment variable with the processor time that a run may
// take.
const stallVariable = "HOLDFAST_STALL"

// ServeJobs is a worker process: it reads jobs from stdin and writes an answer for
// each to stdout, as JSON lines. It ends the process after a run that does not end.
func ServeJobs(stdin io.Reader, stdout io.Writer) error {
	logging.Disable()
	in, out := json.NewDecoder(bufio.NewReader(stdin)), json.NewEncoder(stdout)
	most, _ := time.ParseDuration(os.Getenv(stallVariable)) // without it, no bound
	detector := goroutines.Detector{Most: most}
	for {
		var j suite.Job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read job: %w", err)
		}
		watched := func(run func()) {
			stall := detector.Watch(run)
			if stall == nil {
				return
			}
			out.Encode(stalled(j, stall.Kind(), stall.Error()))
			os.Exit(exitStalled) // the run is still there
		}
		if err := out.Encode(suite.PlayJob(j, watched)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
}

// startsProcesses says whether this system can start worker processes.
const startsProcesses = runtime.GOOS != "js"
