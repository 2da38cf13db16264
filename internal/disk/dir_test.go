package disk_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
)

// listing is a kind of results whose document is a schema, followed by one name a
// line.
var listing = disk.Kind{
	Index:    "index",
	Patterns: []string{"page", "finds/*.yaml"},
	Names: func(doc []byte) ([]string, error) {
		schema, names, _ := strings.Cut(string(doc), "\n")
		if schema != "ours" {
			return nil, errors.New("the schema is another one")
		}
		return strings.Fields(names), nil
	},
}

// tree creates the files of a directory. A content that begins with -> makes a
// symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, files)
	return dir
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		var err error
		if to, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		must.Succeed(t, err)
	}
}

// held are the files of a directory, in the form of [tree].
func held(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			files[name] = "->" + to
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	})
	must.Succeed(t, err)
	return files
}

func TestOnlyResultsOfOursAreReplaced(t *testing.T) {
	outside := tree(t, map[string]string{"a.yaml": "the user's", "index": "ours\nfinds/a.yaml\n"})
	for name, files := range map[string]map[string]string{
		"no index":               {"notes": "x"},
		"an empty index":         {"index": ""},
		"a foreign index":        {"index": "theirs\nfinds/a.yaml", "finds/a.yaml": "x"},
		"a linked index":         {"index": "->" + filepath.Join(outside, "index"), "finds/a.yaml": "x"},
		"a path out of it":       {"index": "ours\n../a.yaml", "a": "x"},
		"a path in and out":      {"index": "ours\nfinds/../../a.yaml", "finds/a.yaml": "x"},
		"an absolute path":       {"index": "ours\n/finds/a.yaml"},
		"a file of another kind": {"index": "ours\nmain.go", "main.go": "x"},
		"a hidden detour":        {"index": "ours\nfinds/../page", "page": "x"},
		"a linked directory":     {"index": "ours\nfinds/a.yaml", "finds": "->" + outside},
		"a link inside":          {"index": "ours\nfinds/a.yaml", "finds": "->mine", "mine/a.yaml": "x"},
		"a linked file":          {"index": "ours\nfinds/a.yaml", "finds/a.yaml": "->" + filepath.Join(outside, "a.yaml")},
		"a directory as a file":  {"index": "ours\npage", "page/x": "x"},
	} {
		dir := tree(t, files)
		if _, err := disk.Open(dir, listing); !errors.Is(err, disk.ErrForeign) {
			t.Errorf("%s: error %v, want that the directory is refused", name, err)
		}
		if diff := cmp.Diff(files, held(t, dir)); diff != "" {
			t.Errorf("%s: the directory changed:\n%s", name, diff)
		}
	}
	if got := held(t, outside)["a.yaml"]; got != "the user's" {
		t.Errorf("outside of the directory there is %q", got)
	}
}

func TestAUsersFilesSurvive(t *testing.T) {
	mine := map[string]string{"main.go": "x", "finds/mine.yaml": "x", "finds/c.yaml": "x", "other": "->main.go"}
	files := maps.Clone(mine)
	maps.Copy(files, map[string]string{"index": "ours\nfinds/a.yaml page finds/gone.yaml", "finds/a.yaml": "x", "page": "x"})
	dir := tree(t, files)
	link := filepath.Join(t.TempDir(), "link")
	must.Succeed(t, os.Symlink(dir, link))
	d, err := disk.Open(link, listing)
	must.Succeed(t, err)
	if err := d.Allow("finds/b.yaml", "finds/a.yaml"); err != nil {
		t.Errorf("a new file, and one that the results name: %v", err)
	}
	if err := d.Allow("finds/b.yaml", "finds/c.yaml"); !errors.Is(err, disk.ErrForeign) || !strings.Contains(err.Error(), "finds/c.yaml is there") {
		t.Errorf("a file of the user's: %v", err)
	}
	if err := d.Allow("finds/../main.go"); !errors.Is(err, disk.ErrForeign) {
		t.Errorf("a file that is never written: %v", err)
	}
	must.Succeed(t, d.Clear())
	if diff := cmp.Diff(mine, held(t, dir)); diff != "" {
		t.Errorf("left is:\n%s", diff)
	}
}

func TestADirectoryThatIsNotThereOrEmptyIsUsed(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "new")} {
		d, err := disk.Open(dir, listing)
		must.Succeed(t, err)
		if err := errors.Join(d.Allow("finds/a.yaml"), d.Clear()); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(tree(t, map[string]string{"file": "x"}), "file")
	if _, err := disk.Open(file, listing); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
}

func TestResultsThatCannotBeFinishedAreAsTheyWere(t *testing.T) {
	old := map[string]string{"index": "ours\nfinds/a.yaml finds/b.yaml", "finds/a.yaml": "old", "finds/b.yaml": "old", "finds/mine": "x", "mine": "x"}
	dir := tree(t, old)
	replace := func(write func() error) error {
		d, err := disk.Open(dir, listing)
		must.Succeed(t, err)
		return d.Replace([]string{"finds/a.yaml", "finds/new.yaml", "page"}, write)
	}
	err := replace(func() error {
		if _, err := os.Stat(filepath.Join(dir, "index")); err == nil {
			t.Error("the index is there while others than its files are")
		}
		put(t, dir, map[string]string{"finds/a.yaml": "new", "finds/new.yaml": "new"})
		return syscall.ENOSPC
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff(old, held(t, dir)); diff != "" {
		t.Errorf("after a failure the directory is another one:\n%s", diff)
	}
	made := map[string]string{"index": "ours\nfinds/a.yaml", "finds/a.yaml": "new"}
	must.Succeed(t, replace(func() error { put(t, dir, made); return nil }))
	maps.Copy(made, map[string]string{"finds/mine": "x", "mine": "x"})
	if diff := cmp.Diff(made, held(t, dir)); diff != "" {
		t.Errorf("made anew:\n%s", diff)
	}
}
