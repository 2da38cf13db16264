package live

import (
	"errors"
	"os/exec"
)

// ErrNoServer says that neither redis-server nor valkey-server is installed.
var ErrNoServer = errors.New("no redis-server and no valkey-server on the PATH")

// findServer looks for a server to run. It is its own Sentinel.
func findServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoServer
}
