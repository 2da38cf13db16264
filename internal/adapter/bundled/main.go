package bundled

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// Program is an adapter that brings its servers along.
type Program struct {
	// Client serves the locks.
	Client adapter.Program
	// Servers open a server, by the argument that asks for one of that kind:
	// the first of Args in a lock's description.
	Servers map[string]func(Settings) (Server, error)
}

// Run plays the role that args name. Without any it is a client process, and with the key
// of one of the servers it is such a server. See [adapter.Serve].
func (p Program) Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return adapter.Serve(ctx, in, out, p.Client)
	}
	if open := p.Servers[args[0]]; open != nil && len(args) == 1 {
		return serve(ctx, in, out, open)
	}
	return fmt.Errorf("unknown arguments %q: a server is one of %q, and a client process has none", args, slices.Sorted(maps.Keys(p.Servers)))
}

// Main is the main function of an adapter's command. An error ends the process
// with the exit code 1.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := p.Run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}
