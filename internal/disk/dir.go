// Package disk writes the files of a command, and decides which files the command
// may replace in the directory that its user names with --out.
//
// A command may use a directory that does not exist or is empty. It may reuse a
// directory only when the results document in it carries Holdfast's schema. It
// then replaces the files that this document names, and no others. The package
// refuses everything else with [ErrForeign].
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/input"
)

// ErrForeign means that a directory holds files which Holdfast must not replace.
var ErrForeign = errors.New("holdfast did not write it")

type Kind struct {
	// Index is the file of the results document, such as results.json.
	Index string
	// Patterns match all other files that the command ever writes, with slashes,
	// as in [path.Match].
	Patterns []string
	// Names reads a results document and lists the other files that it names. It
	// fails for a document without Holdfast's schema.
	Names func(doc []byte) ([]string, error)
}

// Check refuses the name of a file that the command never writes. Such a name
// may lead out of the directory.
func (k Kind) Check(name string) error {
	if filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name && !strings.Contains(name, `\`) {
		if name == k.Index {
			return nil
		}
		for _, p := range k.Patterns {
			if ok, err := path.Match(p, name); ok && err == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("%s names %q, which is no file of such results", k.Index, name)
}

// Dir is a directory that a command may write to.
type Dir struct {
	path string
	kind Kind
	old  []string // the files that its results name
}

// Which returns the one of several results documents that a directory holds, ""
// for none. A directory with several is an error.
func Which(dir string, indexes ...string) (string, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return "", err
	}
	var here []string
	for _, file := range indexes {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			here = append(here, file)
		}
	}
	switch len(here) {
	case 0:
		return "", nil
	case 1:
		return here[0], nil
	}
	return "", fmt.Errorf("%s holds several results: %s", dir, strings.Join(here, ", "))
}

// Unused refuses a directory that is not empty.
func Unused(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("output directory: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("output directory %s: %w: it is not empty", dir, ErrForeign)
	}
	return nil
}

// Open checks a directory, and changes nothing.
func Open(dir string, k Kind) (*Dir, error) {
	d := &Dir{path: dir, kind: k}
	if err := Unused(dir); err == nil || !errors.Is(err, ErrForeign) {
		return d, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(k.Index); err != nil || !info.Mode().IsRegular() {
		return nil, d.foreign("it is not empty, and has no %s", k.Index)
	}
	doc, err := readIndex(root, k.Index)
	if err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	names, err := k.Names(doc)
	if err != nil {
		return nil, d.foreign("%s: %w", k.Index, err)
	}
	for _, name := range append(names, k.Index) {
		if err := errors.Join(k.Check(name), plain(root, name)); err != nil {
			return nil, d.foreign("%w", err)
		}
	}
	d.old = unique(append(names, k.Index))
	return d, nil
}

func readIndex(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return input.ReadAll(f, input.MaxDocument)
}

func (d *Dir) foreign(format string, args ...any) error {
	return fmt.Errorf("output directory %s: %w: %w", d.path, ErrForeign, fmt.Errorf(format, args...))
}

// plain refuses an existing name that is not a regular file, or whose path leads
// through anything but directories, such as a symbolic link.
func plain(root *os.Root, name string) error {
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		part := name[:i]
		info, err := root.Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case part == name && !info.Mode().IsRegular(), part != name && !info.IsDir():
			return fmt.Errorf("%s is a %s", part, kindOf(info.Mode()))
		}
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	}
	return "special file"
}

// Allow refuses existing files that the command is going to write, unless the
// results name them. Such files belong to the user.
func (d *Dir) Allow(names ...string) error {
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		root, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("output directory: %w", err)
	}
	if root != nil {
		defer root.Close()
	}
	for _, name := range names {
		if err := d.kind.Check(name); err != nil {
			return d.foreign("%w", err)
		}
		if root == nil {
			continue
		}
		if err := plain(root, name); err != nil {
			return d.foreign("%w", err)
		}
		if _, err := root.Lstat(name); err == nil && !d.owns(name) {
			return d.foreign("%s is there, and %s does not name it", name, d.kind.Index)
		}
	}
	return nil
}

func (d *Dir) owns(name string) bool {
	_, found := slices.BinarySearch(d.old, name)
	return found
}

// Clear removes the files that the results name, the results last. It also
// removes the directories that become empty.
func (d *Dir) Clear() error {
	if len(d.old) == 0 {
		return nil
	}
	return remove(d.path, last(d.old, d.kind.Index))
}

func remove(dir string, names []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if err := plain(root, name); err != nil {
			return err
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	prune(root, names)
	return nil
}

// prune removes the empty directories of removed files.
func prune(root *os.Root, names []string) {
	dirs := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(dirs))) { // inner ones first
		_ = root.Remove(dir) // a directory that is not empty stays
	}
}

// last moves one name to the end of a list.
func last(names []string, name string) []string {
	return append(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name }), name)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
