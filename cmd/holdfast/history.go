package main

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/holdfast-go/holdfast/checker"
)

// decoder is checker.Decode, or checker.DecodeCutOff.
type decoder func(io.Reader) (*checker.History, error)

// readHistory reads a stored history, gzipped or not. A bar on stderr shows
// how far it is.
func readHistory(ctx context.Context, path string, decode decoder, stderr io.Writer) (*checker.History, error) {
	f, size, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	bar := newReading(stderr, size)
	defer bar.done()
	return unlessInterrupted(ctx, func() (*checker.History, error) {
		defer f.Close()
		return decodeHistory(path, decode, bar.of(f))
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

// damagedError says that a gzipped history cannot be unpacked.
type damagedError struct{ err error }

func (e *damagedError) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return "the gzip data is cut off"
	}
	return "the gzip data is damaged: " + e.err.Error()
}

func (e *damagedError) Unwrap() error { return e.err }

// decodeHistory reads a history from r; name is for errors.
func decodeHistory(name string, decode decoder, r io.Reader) (*checker.History, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var src io.Reader = in
	if gzipped(in) {
		unpacked := unpack(in)
		defer unpacked.Close()
		src = unpacked
	}
	h, err := decode(src)
	var invalid *checker.InvalidError
	var damaged *damagedError
	switch {
	case err == nil:
		return h, nil
	case errors.As(err, &invalid):
		return nil, fmt.Errorf("%s: %w", name, err)
	case errors.As(err, &damaged):
		return nil, fmt.Errorf("%s: %w", name, damaged)
	}
	return nil, fmt.Errorf("read %s: %w", name, err)
}

func gzipped(in *bufio.Reader) bool {
	magic, err := in.Peek(2)
	return err == nil && magic[0] == 0x1f && magic[1] == 0x8b
}

// unpack unzips on the side, while the reader works on what it has. The reader
// closes it when done.
func unpack(r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		z, err := gzip.NewReader(r)
		if err == nil {
			_, err = io.CopyBuffer(in, z, make([]byte, 256<<10))
		}
		var corrupt flate.CorruptInputError
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt) {
			err = &damagedError{err}
		}
		in.CloseWithError(err)
	}()
	return out
}
