package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// MergedDirs is what the directories of some shards have shown together, and the
// files of the finds that are kept.
type MergedDirs struct {
	Merged
	copies []string
}

// mergedDir is a directory that an exploration, or a merge, has written.
type mergedDir struct {
	dir suite.Dir
	Merged
}

// MergeDirs reads directories of one exploration whole, and joins what they hold,
// see [Merge].
func MergeDirs(dirs []string) (*MergedDirs, error) {
	var all MergedDirs
	var parts []mergedDir
	for i, d := range dirs {
		m, err := readDir(suite.Dir(d))
		if err != nil {
			return nil, fmt.Errorf("%s: %w\nhint: an exploration is what holdfast explore --out writes; play it again, or leave it out", d, err)
		}
		parts = append(parts, mergedDir{suite.Dir(d), m})
		if i == 0 {
			all.Merged = m
		} else if all.Merged, err = Merge(all.Merged, m); err != nil {
			return nil, fmt.Errorf("%s does not fit: %w\nhint: of a shard that was played twice and differs keep the one that you trust; runs are the same on every machine, but for those that --stall gives up", d, err)
		}
	}
	var err error
	if all.copies, err = copiesOf(parts, all.Causes); err != nil {
		return nil, fmt.Errorf("%w\nhint: the directory was changed since it was written: play it again, or leave it out", err)
	}
	return &all, nil
}

// Store writes the results and copies the files of the finds, or leaves the
// directory as it was.
func (m *MergedDirs) Store(out *disk.Dir, dir suite.Dir) error {
	return out.Replace(files(m.Causes), func() error {
		if len(m.copies) > 0 {
			if err := os.MkdirAll(dir.File("finds"), 0o755); err != nil {
				return err
			}
		}
		for _, from := range m.copies {
			if err := disk.Copy(from, dir.File("finds", filepath.Base(from))); err != nil {
				return err
			}
		}
		return disk.JSON(dir.File(Index), m.Merged)
	})
}

func readDir(dir suite.Dir) (Merged, error) {
	file, err := os.Open(dir.File(Index))
	if err != nil {
		return Merged{}, err
	}
	defer file.Close()
	return Read(file)
}

// copiesOf are the files of the causes. The error names a missing or changed file.
func copiesOf(parts []mergedDir, causes []Found) ([]string, error) {
	var copies []string
	for _, c := range causes {
		named := filesNamed(c)
		if len(named) == 0 {
			continue
		}
		i := slices.IndexFunc(parts, func(p mergedDir) bool {
			return slices.ContainsFunc(p.Causes, func(f Found) bool { return sameFind(f, c) })
		})
		dir := parts[i].dir
		there := filesOf(dir, c)
		for _, name := range named {
			if !slices.Contains(there, dir.File(filepath.FromSlash(name))) {
				return nil, fmt.Errorf("%s: %s is missing", dir, name)
			}
		}
		for _, file := range there {
			if strings.HasSuffix(file, ".yaml") {
				if _, err := scenarios.Load(file); err != nil {
					return nil, err
				}
			}
		}
		if c.History != "" {
			path := dir.File(filepath.FromSlash(c.History))
			switch hash, err := suite.HashOf(path); {
			case err != nil:
				return nil, err
			case hash != c.HistorySHA256:
				return nil, fmt.Errorf("%s changed since the run: the hash is not the one in %s", path, Index)
			}
		}
		copies = append(copies, there...)
	}
	return copies, nil
}

// filesNamed are the files that a find names.
func filesNamed(f Found) []string {
	named := []string{f.Scenario, f.History}
	if s := f.Shrunk; s != nil {
		named = append(named, s.Scenario, s.History, s.Story)
	}
	return slices.DeleteFunc(named, func(name string) bool { return name == "" })
}

// filesOf are the files of a find that are there.
func filesOf(dir suite.Dir, f Found) []string {
	var there []string
	for _, name := range files([]Found{f}) {
		if file := dir.File(filepath.FromSlash(name)); suite.Exists(file) {
			there = append(there, file)
		}
	}
	return there
}
