package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace calls write to write the files of the results anew: the index, and
// those of names. It creates the directory if necessary. If write fails, Replace
// restores the old files. Meanwhile they are in a hidden directory, including the
// index. So a killed command leaves no index that names missing files.
func (d *Dir) Replace(names []string, write func() error) error {
	names = append([]string{d.kind.Index}, names...)
	if err := d.Allow(names...); err != nil {
		return err
	}
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return err
	}
	aside, err := os.MkdirTemp(d.path, ".earlier-*")
	if err != nil {
		return err
	}
	old := append([]string{d.kind.Index}, d.old...)
	if err := move(d.path, aside, old); err != nil {
		return errors.Join(err, restore(aside, d.path, old))
	}
	if err := write(); err != nil {
		return errors.Join(err, remove(d.path, names), restore(aside, d.path, old))
	}
	d.old = unique(names)
	return os.RemoveAll(aside)
}

// restore moves the old files back, the index last, and removes their temporary
// directory.
func restore(aside, dir string, old []string) error {
	if err := move(aside, dir, last(old, old[0])); err != nil {
		return err
	}
	return os.Remove(aside)
}

func move(from, to string, names []string) error {
	for _, name := range names {
		source, target := filepath.Join(from, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))
		if _, err := os.Lstat(source); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(source, target); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	prune(root, names)
	return nil
}
