package main

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-go/holdfast/checker"
)

// readHistory reads a stored history, gzipped or not. A bar on stderr shows
// how far it is.
func readHistory(path string, stderr io.Writer) (*checker.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(-1)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	bar := newReading(stderr, size)
	defer bar.done()
	return decodeHistory(path, bar.of(f))
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
func decodeHistory(name string, r io.Reader) (*checker.History, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var src io.Reader = in
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unpacked := unpack(in)
		defer unpacked.Close()
		src = unpacked
	}
	h, err := checker.Decode(src)
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
