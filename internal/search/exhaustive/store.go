package exhaustive

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
)

const kindName = "exhaustive"

// Kind stores, reads and merges results: a document, and for each cause the scenario of
// the first run and its smallest form.
var Kind = search.Kind[Results]{
	Name:     kindName,
	Patterns: []string{"finds/*.yaml", "finds/*.txt"},
	Write: func(dir suite.Dir, r Results) error {
		files := r.files()
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
		return nil
	},
}

func (r Results) Files() []string { return slices.Sorted(maps.Keys(r.files())) }

// files are the files of the causes, with what is in them. It names them in the results.
func (r Results) files() map[string]string {
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
				c.Shrunk.Scenario = keep(c.First+".shrunk.yaml", c.Shrunk.Source)
				c.Shrunk.Story = keep(c.First+".shrunk.txt", c.Shrunk.StoryText)
			}
		}
	}
	return all
}

// Before are the results with which a command continues; nil if there are none.
func Before(dir string) (*Results, error) {
	if _, err := os.Stat(filepath.Join(dir, Kind.Index())); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	r, err := Kind.Read(dir)
	if err != nil {
		return nil, err
	}
	parts := r.Parts()
	if len(parts) > 1 {
		return nil, fmt.Errorf("%w: %s holds several shards, joined", ErrOther, dir)
	}
	return &parts[0], nil
}
