package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/suite"
)

// decoder is history.Decode, or history.DecodeCutOff.
type decoder func(io.Reader) (*history.History, error)

// readHistory reads a stored history, gzipped or not. A bar on stderr shows
// how far it is.
func readHistory(ctx context.Context, path string, decode decoder, stderr io.Writer) (*history.History, error) {
	f, size, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	bar := newReading(stderr, size)
	defer bar.done()
	return unlessInterrupted(ctx, func() (*history.History, error) {
		defer f.Close()
		return suite.Decode(path, decode, bar.of(f))
	})
}

// openInput opens a file and tells its size, -1 where it has none. A named
// pipe blocks until somebody writes to it.
func openInput(ctx context.Context, path string) (*os.File, int64, error) {
	f, err := unlessInterrupted(ctx, func() (*os.File, error) { return os.Open(path) })
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

// unlessInterrupted waits for work, but not for longer than until the command
// is interrupted. Work that cannot be stopped is then left to itself: the
// process is about to end.
func unlessInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
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

// warnMissing names the histories that are not there.
func warnMissing(stderr io.Writer, d suite.Dir, paths []string) {
	for _, path := range paths {
		fmt.Fprintf(stderr, "missing: %s\n", d.File(path))
	}
}

// missingHistories says how many there are.
func missingHistories(n int) error {
	return &exitError{code: exitUnknown, msg: "missing histories: " + fmt.Sprint(n), hints: []string{"the verdicts are those of the run; holdfast replay plays the runs of virtual time again"}}
}

// editedError says so.
func editedError(d suite.Dir, paths []string) error {
	what := fmt.Sprintf("%s and %d more histories", paths[0], len(paths)-1)
	if len(paths) == 1 {
		what = paths[0]
	}
	return badInput(fmt.Errorf("%s: %s changed since the run: the hash is not the one in results.json", d, what),
		"the verdicts are about the histories as they were; holdfast check judges one as it is now")
}
