// Command holdfast-zookeeper puts the lock of the Go client of ZooKeeper to the
// test of Holdfast. Without an argument it is a client process, which speaks the
// protocol of docs/adapter-protocol.md; with the argument "serve" it runs a member
// of an ensemble, as the same page has it under "Bundled servers".
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-go/holdfast/subject/adapter"
)

const serveRole = "serve"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-zookeeper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return adapter.Serve(ctx, os.Stdin, os.Stdout, adapter.Program{Locks: locks(), Open: open})
	case len(args) == 1 && args[0] == serveRole:
		return serve(ctx, os.Stdin, os.Stdout)
	}
	return fmt.Errorf("unknown arguments %q: there is %q, and none for a client process", args, serveRole)
}
