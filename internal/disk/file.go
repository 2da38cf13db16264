package disk

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

// File writes the file at path with write, completely or not at all. The path has either
// its old content, or all of the new one, even after a kill or on a full disk. It does
// not protect against a loss of power. The error names the path.
func File(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("write %s: it is a directory; name a file", path)
	}
	err := replace(path, write)
	var of *fs.PathError
	if errors.As(err, &of) && strings.HasPrefix(filepath.Base(of.Path), beside(path)) { // a temporary name, which the user does not know
		err = of.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Possible is the reason for which [File] could not write a file now, nil if it could.
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

// Bytes is [File] for existing bytes.
func Bytes(path string, data []byte) error {
	return File(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Copy copies a file to another path.
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

// beside is the beginning of the names of temporary files for path.
func beside(path string) string { return "." + filepath.Base(path) + "-" }

// replace writes a temporary file beside path, and renames it at the end.
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
