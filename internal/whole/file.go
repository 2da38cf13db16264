// Package whole writes files whole or not at all: what is at a path is what was
// there before, or all of what is new. That is so when the writer is killed and when the disk is full; it is not
// about the power going.
package whole

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File makes the file at path of what write writes, or leaves what was there.
// The error names the path.
func File(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("write %s: it is a directory; name a file", path)
	}
	err := replace(path, write)
	var of *fs.PathError
	if errors.As(err, &of) && strings.HasPrefix(filepath.Base(of.Path), beside(path)) { // which nobody knows
		err = of.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Possible says why [File] could not write a file now, nil when it could.
func Possible(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("write %s: it is a directory; name a file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), beside(path)+"*")
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Bytes is [File] for what is there already.
func Bytes(path string, data []byte) error {
	return File(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Copy makes the file at to a copy of another.
func Copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return File(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// beside is how the names of files begin that are to become the one at path.
func beside(path string) string { return "." + filepath.Base(path) + "-" }

// replace writes a file beside path and gives it that name at the end.
func replace(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), beside(path)+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err = errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
