package input

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxDocument is the most bytes of a results document.
const MaxDocument = 256 << 20

// errTooLong means that an input is longer than its reader allows.
var errTooLong = errors.New("it is too long")

// ReadAll reads up to most bytes. The error says so if there are more, or is
// that of r.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, most)
	}
	return text, err
}

// ReadFile reads a file of up to most bytes, as [ReadAll] does.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := ReadAll(f, most)
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}
