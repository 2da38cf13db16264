package live

import (
	"errors"
	"fmt"
	"os/exec"
)

// ErrUnavailable says that this machine cannot run real servers; the error
// around it says why.
var ErrUnavailable = errors.New("no real servers on this machine")

// findServer looks for a server to run. It is its own Sentinel.
func findServer() (string, error) {
	if !tied {
		return "", fmt.Errorf("%w: this is not Linux, where servers die with a harness that is killed", ErrUnavailable)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: neither redis-server nor valkey-server is on the PATH", ErrUnavailable)
}
