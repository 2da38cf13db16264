package servers

import (
	"fmt"
	"os/exec"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// Backend is the kind of servers of a world.
type Backend struct {
	// Miniredis is the command that runs a server of package miniredis; the name
	// of its configuration file is added. The path of the program is absolute.
	// Without a command the servers are redis-server, or valkey-server, from
	// the PATH, or Program.
	Miniredis []string
	// Program is the path of a server like redis-server; "" looks on the PATH.
	Program string
	// External, when not nil, are servers that run already. The world starts none.
	External *External
	// Bundled, when not nil, are servers of another system than Redis.
	Bundled *BundledServers
}

// The names of the backends that Holdfast starts itself.
const (
	Redis     = "redis"
	Miniredis = "miniredis"
)

func (b Backend) Name() string {
	if b.External != nil {
		return "own"
	}
	if b.Bundled != nil {
		return "foreign"
	}
	if b.mini() {
		return Miniredis
	}
	return Redis
}

func (b Backend) mini() bool { return len(b.Miniredis) > 0 }

// Available returns the reason why this machine cannot run servers of the backend,
// with [processes.ErrUnavailable], or nil. It starts nothing.
func (b Backend) Available() error {
	_, err := b.command()
	return err
}

// MovesClocks returns the reason why the clocks of such servers cannot be moved on
// this machine, with [processes.ErrUnavailable], or nil. It starts nothing, so an
// installed compiler may still fail.
func (b Backend) MovesClocks() error {
	if b.External != nil {
		return fmt.Errorf("%w: %w", processes.ErrUnavailable, errExternal)
	}
	if b.Bundled != nil {
		return fmt.Errorf("%w: nothing is known of the clocks of servers that the lock brings along", processes.ErrUnavailable)
	}
	if b.mini() {
		return fmt.Errorf("%w: miniredis takes its time from the machine", processes.ErrUnavailable)
	}
	return CanCompile()
}

// command starts a server, or its own Sentinel.
func (b Backend) command() ([]string, error) {
	if err := processes.Supported(); err != nil {
		return nil, err
	}
	switch {
	case b.Bundled != nil:
		return b.Bundled.Command, nil
	case b.mini() || b.External != nil: // of which none is started
		return b.Miniredis, nil
	case b.Program != "":
		path, err := exec.LookPath(b.Program)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", processes.ErrUnavailable, err)
		}
		return []string{path}, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("%w: neither redis-server nor valkey-server is on the PATH", processes.ErrUnavailable)
}
