package disk_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must.Succeed(t, err)
	return string(b)
}

// names are the files of a directory, including hidden ones.
func names(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	must.Succeed(t, err)
	var words []string
	for _, e := range all {
		words = append(words, e.Name())
	}
	return strings.Join(words, " ")
}

func TestAFileThatCannotBeFinishedLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	must.Succeed(t, disk.Bytes(path, []byte("old")))
	full := &os.PathError{Op: "write", Path: filepath.Join(dir, ".result-123"), Err: syscall.ENOSPC}
	err := disk.File(path, func(w io.Writer) error {
		fmt.Fprint(w, strings.Repeat("new", 10_000))
		return full
	})
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != "write "+path+": no space left on device" {
		t.Errorf("error: %v", err)
	}
	if got := read(t, path); got != "old" || names(t, dir) != "result" {
		t.Errorf("%q is there, beside %s", got, names(t, dir))
	}
	if err := disk.Bytes(path, []byte("new")); err != nil || read(t, path) != "new" || names(t, dir) != "result" {
		t.Errorf("%v; %q, beside %s", err, read(t, path), names(t, dir))
	}
}

func TestADirectoryIsNoFile(t *testing.T) {
	dir := t.TempDir()
	err := disk.Bytes(dir, []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "it is a directory; name a file") {
		t.Errorf("the error is %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside it are %v", left)
	}
}
