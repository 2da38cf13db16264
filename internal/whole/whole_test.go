package whole_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/whole"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names are what a directory holds, hidden files too.
func names(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range all {
		words = append(words, e.Name())
	}
	return strings.Join(words, " ")
}

func TestAFileThatCannotBeFinishedLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	if err := whole.Bytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := &os.PathError{Op: "write", Path: filepath.Join(dir, ".result-123"), Err: syscall.ENOSPC}
	err := whole.File(path, func(w io.Writer) error {
		fmt.Fprint(w, strings.Repeat("new", 10_000))
		return full
	})
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != "write "+path+": no space left on device" {
		t.Errorf("error: %v", err)
	}
	if got := read(t, path); got != "old" || names(t, dir) != "result" {
		t.Errorf("%q is there, beside %s", got, names(t, dir))
	}
	if err := whole.Bytes(path, []byte("new")); err != nil || read(t, path) != "new" || names(t, dir) != "result" {
		t.Errorf("%v; %q, beside %s", err, read(t, path), names(t, dir))
	}
}

func TestADirectoryThatCannotBeFinishedLeavesTheOldOne(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	put := func(text string, files ...string) func(string) error {
		return func(dir string) error {
			for _, f := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
					return err
				}
				if err := whole.Bytes(filepath.Join(dir, f), []byte(text)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := whole.Dir(out, "index", put("old", "index", "finds/a", "finds/b")); err != nil {
		t.Fatal(err)
	}
	if err := whole.Bytes(filepath.Join(out, "mine"), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	err := whole.Dir(out, "index", func(dir string) error {
		if err := put("new", "index", "finds/a")(dir); err != nil {
			return err
		}
		return whole.File(filepath.Join(dir, "finds", "b"), func(io.Writer) error { return syscall.ENOSPC })
	})
	if want := "write " + filepath.Join(out, "finds", "b") + ": no space left on device"; !errors.Is(err, syscall.ENOSPC) || err.Error() != want {
		t.Errorf("error: %v, want %s", err, want)
	}
	if got := read(t, filepath.Join(out, "finds", "a")) + read(t, filepath.Join(out, "index")); got != "oldold" || names(t, out) != "finds index mine" {
		t.Errorf("%s, beside %s", got, names(t, out))
	}
	if err := whole.Dir(out, "index", put("new", "index", "finds/a")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(out, "index")); got != "new" || names(t, filepath.Join(out, "finds")) != "a" || names(t, out) != "finds index mine" {
		t.Errorf("%s, beside %s; finds %s", got, names(t, out), names(t, filepath.Join(out, "finds")))
	}
}
