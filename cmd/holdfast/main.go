// Command holdfast shows what a distributed lock on Redis really guarantees.
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

// run is the whole command. Its only ties to the process are the streams, the
// file system and the executable's own path, from which workers are started.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	logging.Disable() // go-redis would print what Holdfast reports
	root := newRoot(stdin, stdout, stderr)
	root.SetArgs(args)
	return exitCode(stderr, root.ExecuteContext(ctx))
}
