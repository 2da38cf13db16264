package suite

import (
	"context"
	"os"
	"syscall"
)

// OpenInput opens a file and tells its size, -1 where it has none. A named
// pipe blocks until somebody writes to it.
func OpenInput(ctx context.Context, path string) (*os.File, int64, error) {
	f, err := UnlessInterrupted(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && info.IsDir():
		f.Close()
		return nil, 0, &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case err == nil && info.Mode().IsRegular():
		return f, info.Size(), nil
	}
	return f, -1, nil
}

// UnlessInterrupted waits for work until the command is interrupted. It abandons
// work that cannot be stopped, because the process is about to end.
func UnlessInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := work()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
