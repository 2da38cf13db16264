// Command holdfast-sql puts the locks that people make of PostgreSQL and MariaDB
// to the test of Holdfast. Without an argument it is a client process, which
// speaks the protocol of docs/adapter-protocol.md. With the name of a database
// it runs a server of that kind, as the same page has it under "Bundled servers".
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-go/holdfast/subject/adapter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-sql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return adapter.Serve(ctx, os.Stdin, os.Stdout, adapter.Program{Locks: locks(), Open: open})
	}
	for _, d := range databases {
		if len(args) == 1 && args[0] == d.name {
			return serve(ctx, os.Stdin, os.Stdout, d.server)
		}
	}
	return fmt.Errorf("unknown arguments %q: there are %q and %q, and none for a client process", args, postgres.name, mariadb.name)
}
