package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir puts what write writes into a directory of its own in the place of what
// out holds under the same names, and makes out if need be. Until write has
// returned nothing changes in out, and nothing does when it fails. While the
// names change hands last is not there, so that whoever finds it finds what
// belongs to it. Errors name files as they are called in out.
func Dir(out, last string, write func(dir string) error) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	staged, err := os.MkdirTemp(out, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staged)
	if err := write(staged); err != nil {
		return &stagedError{err, staged, out}
	}
	return install(staged, out, last)
}

func install(staged, out, last string) error {
	all, err := os.ReadDir(staged)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(out, last)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range all {
		if e.Name() == last {
			continue
		}
		if err := os.RemoveAll(filepath.Join(out, e.Name())); err != nil {
			return fmt.Errorf("replace: %w", err)
		}
		if err := os.Rename(filepath.Join(staged, e.Name()), filepath.Join(out, e.Name())); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(staged, last), filepath.Join(out, last))
}

// stagedError is an error about a file of the new directory, in words about the
// one that it was to become.
type stagedError struct {
	err         error
	staged, out string
}

// Error implements error.
func (e *stagedError) Error() string { return strings.ReplaceAll(e.err.Error(), e.staged, e.out) }

// Unwrap returns what write failed with.
func (e *stagedError) Unwrap() error { return e.err }
