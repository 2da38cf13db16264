package suite

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/disk"
)

// Store writes a history to a file, completely or not at all.
func Store(path string, h *history.History) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store history: %w", err)
	}
	if err := disk.File(path, func(w io.Writer) error { return h.Encode(w) }); err != nil {
		return fmt.Errorf("store history: %w", err)
	}
	return nil
}

// ReadHistory reads a history from a file, which may be gzipped.
func ReadHistory(path string) (*history.History, error) { return read(path, history.Decode) }

// ReadWithoutServerLog reads a history without the events of servers, which are most of
// many histories.
func ReadWithoutServerLog(path string) (*history.History, error) {
	return read(path, history.DecodeWithoutServerLog)
}

func read(path string, decode func(io.Reader) (*history.History, error)) (*history.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return Decode(path, info.Size(), decode, f)
}

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

// DamagedError reports a gzipped history that cannot be unpacked.
type DamagedError struct{ err error }

func (e *DamagedError) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return "the gzip data is cut off"
	}
	return "the gzip data is damaged: " + e.err.Error()
}

func (e *DamagedError) Unwrap() error { return e.err }

// Decode reads a history of size bytes from r; name is for errors. The size is -1
// where it is not known: then reading takes more memory for a while.
func Decode(name string, size int64, decode func(io.Reader) (*history.History, error), r io.Reader) (*history.History, error) {
	all := &counter{r: r}
	in := bufio.NewReader(all) // the decoder has a larger buffer of its own
	var src io.Reader = in
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b { // gzip
		unpacked := unpack(in)
		defer unpacked.Close()
		src = unpacked
	}
	h, err := decode(partly{src, all, size})
	var damaged *DamagedError
	switch {
	case err == nil:
		return h, nil
	case errors.As(err, new(*history.InvalidError)):
		return nil, fmt.Errorf("%s: %w", name, err)
	case errors.As(err, &damaged):
		return nil, fmt.Errorf("%s: %w", name, damaged)
	}
	return nil, fmt.Errorf("read %s: %w", name, err)
}

// A history shrinks to a tenth or a twentieth. A file that swells to swell times
// its size was made to fill a disk. The check begins at swellFrom bytes, because a
// start may be repetitive.
const (
	swell     = 200
	swellFrom = 32 << 20
)

var errSwells = fmt.Errorf("it swells to more than %d times its size", swell)

// counter counts what was read.
type counter struct {
	r io.Reader
	n atomic.Int64
}

// partly says how much of size bytes a counter has read.
type partly struct {
	io.Reader
	read *counter
	size int64
}

func (p partly) Part() float64 {
	if p.size <= 0 {
		return 0
	}
	return float64(p.read.n.Load()) / float64(p.size)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// swelling passes unpacked data on, until it is too much for what was packed.
type swelling struct {
	w      io.Writer
	packed *counter
	n      int64
}

func (s *swelling) Write(p []byte) (int, error) {
	if s.n += int64(len(p)); s.n > swellFrom && s.n > swell*s.packed.n.Load() {
		return 0, errSwells
	}
	return s.w.Write(p)
}

// unpack unzips concurrently with the reader. The reader must close it.
func unpack(r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		packed := &counter{r: r}
		z, err := gzip.NewReader(packed)
		if err == nil {
			_, err = io.CopyBuffer(&swelling{w: in, packed: packed}, z, make([]byte, 256<<10))
		}
		var corrupt flate.CorruptInputError
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, errSwells) || errors.As(err, &corrupt) {
			err = &DamagedError{err}
		}
		in.CloseWithError(err)
	}()
	return out
}

// CollectRarely makes the garbage collector run less often, for a process that reads
// long histories and keeps most of them. The heap may double, and grow by room bytes,
// between two collections until the caller calls restore. Without that room, a growing
// heap causes dozens of collections, and each scans all of it.
func CollectRarely(room int) (restore func()) {
	ballast := make([]byte, room) // counts as heap, and takes no memory as long as nothing touches it
	return func() { runtime.KeepAlive(ballast) }
}
