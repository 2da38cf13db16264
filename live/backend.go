package live

import (
	"errors"
	"fmt"
	"os/exec"
)

// Backend is what the servers of a world are.
type Backend struct {
	// Miniredis is the command that runs a server of package mini; the name of
	// its configuration file is added. The path of the program is absolute.
	// Without a command the servers are redis-server, or valkey-server, from
	// the PATH.
	Miniredis []string
	// Own, when not nil, are servers that run already, instead of any that are
	// started.
	Own *Own
	// Foreign, when not nil, are servers that are no Redis, instead of any that
	// are.
	Foreign *ForeignServers
}

// The names of backends.
const (
	Redis     = "redis"
	Miniredis = "miniredis"
	UsersOwn  = "own"
	Foreign   = "foreign"
)

// Name is how results call the backend.
func (b Backend) Name() string {
	if b.Own != nil {
		return UsersOwn
	}
	if b.Foreign != nil {
		return Foreign
	}
	if b.mini() {
		return Miniredis
	}
	return Redis
}

func (b Backend) mini() bool { return len(b.Miniredis) > 0 }

// ErrUnavailable says that this machine cannot run real servers; the error
// around it says why.
var ErrUnavailable = errors.New("no real servers on this machine")

// ErrNotLinux says that the operating system lacks what the live world is made
// of.
var ErrNotLinux = errors.New("only Linux ends every process of a run when the harness dies, and shows which threads have stopped")

// Supported is [ErrNotLinux], within [ErrUnavailable], where no process of the
// live world can run, and nil elsewhere.
func Supported() error {
	if !tied {
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrNotLinux)
	}
	return nil
}

// Available says why this machine cannot run servers of the backend, with
// [ErrUnavailable], or nil. It starts nothing.
func (b Backend) Available() error {
	_, err := b.command()
	return err
}

// MovesClocks says why the clocks of such servers cannot be moved on this
// machine, with [ErrUnavailable], or nil. It starts nothing: that a compiler
// is there does not mean that it works.
func (b Backend) MovesClocks() error {
	if b.Own != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, errNotOurs)
	}
	if b.Foreign != nil {
		return fmt.Errorf("%w: nothing is known of the clocks of servers that the lock brings along", ErrUnavailable)
	}
	if b.mini() {
		return fmt.Errorf("%w: miniredis takes its time from the machine", ErrUnavailable)
	}
	_, err := findCompiler()
	return err
}

// command is what starts a server, which is its own Sentinel.
func (b Backend) command() ([]string, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	switch {
	case b.Foreign != nil:
		return b.Foreign.Command, nil
	case b.mini() || b.Own != nil: // of which none is started
		return b.Miniredis, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("%w: neither redis-server nor valkey-server is on the PATH", ErrUnavailable)
}
