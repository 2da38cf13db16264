// Command holdfast shows the guarantees of distributed locks under faults.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command. It uses nothing of the process but the streams, the
// file system, and the executable's own path, from which it starts workers.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	logging.Disable() // go-redis would print errors that Holdfast reports itself
	root := newRoot(stdin, stdout, stderr)
	root.SetArgs(args)
	return exitCode(stderr, root.ExecuteContext(ctx))
}
