package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/suite"
)

// explorationPart is a directory that an exploration, or a merge, has written.
type explorationPart struct {
	dir suite.Dir
	explore.Merged
}

// mergeExplorations joins shards of an exploration.
func mergeExplorations(c *cobra.Command, dirs []string, f mergeFlags) error {
	parts, all, err := readExplorations(dirs)
	if err != nil {
		return err
	}
	copies, err := copiesOf(parts, all.Causes)
	if err != nil {
		return badInput(err, "the directory was changed since it was written: play it again, or leave it out")
	}
	to, err := openOut(f.out, exploreKind)
	if err != nil {
		return err
	}
	out := suite.Dir(f.out)
	stored := to.Replace(exploreFiles(all.Causes), func() error {
		if len(copies) > 0 {
			if err := os.MkdirAll(out.File("finds"), 0o755); err != nil {
				return err
			}
		}
		for _, from := range copies {
			if err := whole.Copy(from, out.File("finds", filepath.Base(from))); err != nil {
				return err
			}
		}
		return writeJSON(out.File(exploreResults), all)
	})
	if err := printTable(c.OutOrStdout(), f.format, merged{explored{all.Results, out, false}, all}); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	switch {
	case stored != nil:
		return notStored(stored, f.out)
	case len(all.Defects) > 0:
		return ownDefects(c.ErrOrStderr(), all.Defects)
	}
	return missingShards(all.Missing, all.Of)
}

// readExplorations reads the directories, and joins what they hold.
func readExplorations(dirs []string) (parts []explorationPart, all explore.Merged, err error) {
	for i, d := range dirs {
		m, err := readExploration(suite.Dir(d))
		if err != nil {
			return nil, all, badInput(fmt.Errorf("%s: %w", d, err), "an exploration is what holdfast explore --out writes; play it again, or leave it out")
		}
		parts = append(parts, explorationPart{suite.Dir(d), m})
		if i == 0 {
			all = m
		} else if all, err = explore.Merge(all, m); err != nil {
			return nil, all, badInput(fmt.Errorf("%s does not fit: %w", d, err),
				"of a shard that was played twice and differs keep the one that you trust; runs are the same on every machine, but for those that --stall gives up")
		}
	}
	return parts, all, nil
}

func readExploration(dir suite.Dir) (explore.Merged, error) {
	file, err := os.Open(dir.File(exploreResults))
	if err != nil {
		return explore.Merged{}, err
	}
	defer file.Close()
	return explore.Read(file)
}

// copiesOf are the files of the causes. An error says that one is missing, or
// is not what was written.
func copiesOf(parts []explorationPart, causes []explore.Found) ([]string, error) {
	var copies []string
	for _, c := range causes {
		named := filesNamed(c)
		if len(named) == 0 {
			continue
		}
		i := slices.IndexFunc(parts, func(p explorationPart) bool {
			return slices.ContainsFunc(p.Causes, func(f explore.Found) bool { return explore.SameFind(f, c) })
		})
		dir := parts[i].dir
		files := filesOf(dir, c)
		for _, name := range named {
			if !slices.Contains(files, dir.File(filepath.FromSlash(name))) {
				return nil, fmt.Errorf("%s: %s is missing", dir, name)
			}
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".yaml") {
				if _, err := scenarios.Load(file); err != nil {
					return nil, err
				}
			}
		}
		if c.History != "" {
			if err := unchanged(dir.File(filepath.FromSlash(c.History)), c.HistorySHA256); err != nil {
				return nil, err
			}
		}
		copies = append(copies, files...)
	}
	return copies, nil
}

// filesNamed are the files that a find names.
func filesNamed(f explore.Found) []string {
	named := []string{f.Scenario, f.History}
	if s := f.Shrunk; s != nil {
		named = append(named, s.Scenario, s.History, s.Story)
	}
	return slices.DeleteFunc(named, func(name string) bool { return name == "" })
}

// filesOf are the files of a find that are there.
func filesOf(dir suite.Dir, f explore.Found) []string {
	var files []string
	for _, name := range exploreFiles([]explore.Found{f}) {
		if file := dir.File(filepath.FromSlash(name)); suite.Exists(file) {
			files = append(files, file)
		}
	}
	return files
}

// unchanged compares a file with its hash.
func unchanged(path, hash string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return fmt.Errorf("%s changed since the run: the hash is not the one in %s", path, exploreResults)
	}
	return nil
}

// merged prints what shards of an exploration have shown together.
type merged struct {
	explored
	all explore.Merged
}

// MarshalJSON makes the results themselves the document.
func (m merged) MarshalJSON() ([]byte, error) { return json.Marshal(m.all) }

// text implements [table].
func (m merged) text(w io.Writer) error { return m.withShards(w, m.explored.text) }

// markdown implements [table].
func (m merged) markdown(w io.Writer) error { return m.withShards(w, m.explored.markdown) }

func (m merged) withShards(w io.Writer, print func(io.Writer) error) error {
	if err := print(w); err != nil || m.all.Of == 1 {
		return err
	}
	text := fmt.Sprintf("%d of %s.", len(m.all.Shards), english.Count(m.all.Of, "shard"))
	if len(m.all.Missing) > 0 {
		text = missingWords(m.all.Missing, m.all.Of) + "."
	}
	_, err := fmt.Fprintln(w, strings.ToUpper(text[:1])+text[1:])
	return err
}
