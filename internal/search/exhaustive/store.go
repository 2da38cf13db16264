package exhaustive

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// PageFile is the file of a directory that shows the results in a browser.
const PageFile = "exhaustive.html"

// Directory is what a directory of such results holds: a document, and of each
// cause the scenario of the first run and what is left of it.
var Directory = disk.Kind{
	Index:    "exhaustive.json",
	Patterns: []string{PageFile, "finds/*.yaml", "finds/*.txt"},
	Names: func(doc []byte) ([]string, error) {
		var r Results
		if err := documents.Unmarshal(doc, &r); err != nil {
			return nil, err
		}
		if r.Schema != Schema {
			return nil, errors.New(input.Sprintf("the schema is %q, not %q", r.Schema, Schema))
		}
		names := []string{PageFile}
		for name := range r.files() {
			names = append(names, name)
		}
		return names, nil
	},
}

// files are the files of the causes, with what is in them. It names them in the
// results.
func (r *Results) files() map[string]string {
	all := map[string]string{}
	keep := func(name, text string) string {
		if text == "" {
			return ""
		}
		name = path.Join("finds", name)
		all[name] = text
		return name
	}
	for _, causes := range [][]Cause{r.Violated, r.Inherent} {
		for i := range causes {
			c := &causes[i]
			c.File = keep(c.First+".yaml", c.Source)
			if c.Shrunk != nil {
				c.Shrunk.File = keep(c.First+".shrunk.yaml", c.Shrunk.Source)
				keep(c.First+".shrunk.txt", c.Shrunk.Story)
			}
		}
	}
	return all
}

// Store writes results to a directory, and says where in them.
func (r *Results) Store(out *disk.Dir, dir suite.Dir) error { return r.store(out, dir, r) }

// Store writes joined results to a directory, and says where in them.
func (m *Merged) Store(out *disk.Dir, dir suite.Dir) error { return m.Results.store(out, dir, m) }

func (r *Results) store(out *disk.Dir, dir suite.Dir, doc any) error {
	r.Dir = dir
	files := r.files()
	names := []string{PageFile}
	for name := range files {
		names = append(names, name)
	}
	return out.Replace(names, func() error {
		if len(files) > 0 {
			if err := os.MkdirAll(dir.File("finds"), 0o755); err != nil {
				return fmt.Errorf("write finds: %w", err)
			}
		}
		for name, text := range files {
			if err := disk.Bytes(dir.File(name), []byte(text)); err != nil {
				return fmt.Errorf("write find: %w", err)
			}
		}
		return disk.JSON(dir.File(Directory.Index), doc)
	})
}
