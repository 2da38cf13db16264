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

func TestADirectoryThatCannotBeFinishedIsAsItWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	put := func(text string, files ...string) error {
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
	all := []string{"index", "finds", "page"}
	if err := whole.Replace(dir, all, func() error { return put("old", "finds/a", "finds/b", "index") }); err != nil {
		t.Fatal(err)
	}
	if err := put("mine", "mine"); err != nil {
		t.Fatal(err)
	}
	err := whole.Replace(dir, all, func() error {
		if _, err := os.Stat(filepath.Join(dir, "index")); err == nil {
			t.Error("the index is there while others than its files are")
		}
		if err := put("new", "finds/a", "page"); err != nil {
			return err
		}
		return syscall.ENOSPC
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error: %v", err)
	}
	for f, want := range map[string]string{"finds/a": "old", "finds/b": "old", "index": "old", "mine": "mine"} {
		if got := read(t, filepath.Join(dir, f)); got != want {
			t.Errorf("%s: %q, want %q", f, got, want)
		}
	}
	if got := names(t, dir); got != "finds index mine" {
		t.Errorf("left is %s", got)
	}
	if err := whole.Replace(dir, all, func() error { return put("new", "finds/a", "index") }); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir) + ": " + names(t, filepath.Join(dir, "finds")); got != "finds index mine: a" {
		t.Errorf("made anew: %s", got)
	}
}
