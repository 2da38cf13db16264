package suite

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/whole"
)

// Store writes a history to a file, whole or not at all.
func Store(path string, h *history.History) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store history: %w", err)
	}
	if err := whole.File(path, func(w io.Writer) error { return history.Encode(w, h) }); err != nil {
		return fmt.Errorf("store history: %w", err)
	}
	return nil
}

func ReadHistory(path string) (*history.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Decode(path, history.Decode, f)
}

// DamagedError says that a Gzipped history cannot be unpacked.
type DamagedError struct{ err error }

// Error implements error.
func (e *DamagedError) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return "the gzip data is cut off"
	}
	return "the gzip data is damaged: " + e.err.Error()
}

// Unwrap returns what the unpacking failed with.
func (e *DamagedError) Unwrap() error { return e.err }

// Decode reads a history from r; name is for errors. The faults of a history of
// an older version get their traits.
func Decode(name string, decode func(io.Reader) (*history.History, error), r io.Reader) (*history.History, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var src io.Reader = in
	if Gzipped(in) {
		unpacked := Unpack(in)
		defer unpacked.Close()
		src = unpacked
	}
	h, err := decode(src)
	if err == nil {
		err = faults.Recall(&h.Header, h.Events)
	}
	var invalid *history.InvalidError
	var damaged *DamagedError
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

// Gzipped says whether what follows is gzipped.
func Gzipped(in *bufio.Reader) bool {
	magic, err := in.Peek(2)
	return err == nil && magic[0] == 0x1f && magic[1] == 0x8b
}

// Unpack unzips on the side, while the reader works on what it has. The reader
// closes it when done.
func Unpack(r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		z, err := gzip.NewReader(r)
		if err == nil {
			_, err = io.CopyBuffer(in, z, make([]byte, 256<<10))
		}
		var corrupt flate.CorruptInputError
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt) {
			err = &DamagedError{err}
		}
		in.CloseWithError(err)
	}()
	return out
}
