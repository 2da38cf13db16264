package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace has write make some files and directories of dir anew, and makes dir
// if need be. When write fails all of them are as they were. Meanwhile what was
// there is set aside: of a writer that is killed the first of names, which says
// what the others are, is not left behind unless it is theirs. So write makes
// that one last.
func Replace(dir string, names []string, write func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	aside, err := os.MkdirTemp(dir, ".earlier-*")
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := move(dir, aside, name); err != nil {
			return errors.Join(err, restore(dir, aside, names[:i]))
		}
	}
	if err := write(); err != nil {
		return errors.Join(err, restore(dir, aside, names))
	}
	return os.RemoveAll(aside)
}

// restore puts back what was set aside, in the place of what is there now; the
// first of names last.
func restore(dir, aside string, names []string) error {
	for i := range names {
		name := names[len(names)-1-i]
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
		if err := move(aside, dir, name); err != nil {
			return err
		}
	}
	return os.Remove(aside)
}

// move moves a file from one directory to another, if it is there.
func move(from, to, name string) error {
	err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
