package exhaustive

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/suite"
)

// Directory is what a directory of such results holds: a document, and the
// scenario of the first run of every cause.
var Directory = outdir.Kind{
	Index:    "exhaustive.json",
	Patterns: []string{"finds/*.yaml"},
	Names: func(doc []byte) ([]string, error) {
		var r Results
		if err := (input.JSON{Unknown: true, Null: true}).Unmarshal(doc, &r); err != nil {
			return nil, err
		}
		if r.Schema != Schema {
			return nil, errors.New(input.Sprintf("the schema is %q, not %q", r.Schema, Schema))
		}
		return r.files(), nil
	},
}

// files are the files of the causes.
func (r Results) files() []string {
	var names []string
	for _, causes := range [][]Cause{r.Violated, r.Inherent} {
		for _, c := range causes {
			if c.File != "" {
				names = append(names, c.File)
			}
		}
	}
	return names
}

// Store writes the results to a directory, and says where in them.
func (r *Results) Store(out *outdir.Dir, dir suite.Dir) error {
	sources := map[string]string{}
	for _, causes := range [][]Cause{r.Violated, r.Inherent} {
		for i := range causes {
			if c := &causes[i]; c.Source != "" {
				c.File = path.Join("finds", c.First+".yaml")
				sources[c.File] = c.Source
			}
		}
	}
	names := r.files()
	return out.Replace(names, func() error {
		if len(names) > 0 {
			if err := os.MkdirAll(dir.File("finds"), 0o755); err != nil {
				return fmt.Errorf("write finds: %w", err)
			}
		}
		for _, name := range names {
			if err := whole.Bytes(dir.File(name), []byte(sources[name])); err != nil {
				return fmt.Errorf("write find: %w", err)
			}
		}
		return whole.JSON(dir.File(Directory.Index), r)
	})
}
