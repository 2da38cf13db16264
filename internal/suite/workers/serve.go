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

// ServeJobs is a worker process: it reads jobs from stdin and writes an answer for
// each to stdout, as JSON lines.
func ServeJobs(stdin io.Reader, stdout io.Writer) error {
	logging.Disable()
	in, out := json.NewDecoder(bufio.NewReader(stdin)), json.NewEncoder(stdout)
	most, _ := time.ParseDuration(os.Getenv(stallVariable)) // without it, no bound
	still := &stallDetector{most: most}
	go still.watch(os.Stderr)
	for {
		var j suite.Job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read job: %w", err)
		}
		if err := out.Encode(suite.PlayJob(j, still.play)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
}

// startsProcesses says whether this system can start worker processes.
const startsProcesses = runtime.GOOS != "js"
