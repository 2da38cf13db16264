package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// ErrDamaged marks a document that is not JSON, such as one that was cut off.
var ErrDamaged = errors.New("it is damaged: it is no JSON document")

// Kind is a kind of search with shards, and what its directories hold.
type Kind[R Results[R]] struct {
	Name     string   // the document is NAME.json, the page NAME.html
	Patterns []string // of further files
	// Write writes the files beside the document, and the document's own JSON follows;
	// nil for none.
	Write func(dir suite.Dir, r R) error
	// Copies are the files that merged results name, in the directories that were
	// merged. The error names one that is missing or was changed. nil if the
	// documents contain everything.
	Copies func(from []Stored[R], merged R) ([]string, error)
}

// Index is the file of the document.
func (k Kind[R]) Index() string { return k.Name + ".json" }

// Page is the file that shows the results in a browser.
func (k Kind[R]) Page() string { return k.Name + ".html" }

// Directory says which files of a directory belong to the search.
func (k Kind[R]) Directory() disk.Kind {
	return disk.Kind{
		Index:    k.Index(),
		Patterns: append([]string{k.Page()}, k.Patterns...),
		Names: func(doc []byte) ([]string, error) {
			r, err := k.parse(doc)
			if err != nil {
				return nil, err
			}
			return k.files(r), nil
		},
	}
}

func (k Kind[R]) files(r R) []string { return append([]string{k.Page()}, r.Files()...) }

// Decode reads a document, and refuses what the search does not write.
func (k Kind[R]) Decode(doc []byte) (R, error) {
	r, err := k.parse(doc)
	if err != nil {
		return r, err
	}
	if err := r.Check(); err != nil {
		return r, err
	}
	parts := r.Parts()
	for i, s := range parts {
		e := s.Common()
		if e.Of < 1 || e.Shard < 1 || e.Shard > e.Of {
			return r, fmt.Errorf("there is no shard %d of %d", e.Shard, e.Of)
		}
		if i > 0 && (e.Shard <= parts[i-1].Common().Shard || Difference(parts[0], s) != "") {
			return r, errors.New("its shards are not shards of one search")
		}
	}
	return r, nil
}

// parse reads a document of this kind. A later version may have written more fields.
func (k Kind[R]) parse(doc []byte) (R, error) {
	var r R
	if !json.Valid(doc) {
		return r, ErrDamaged
	}
	var head Header
	if err := (input.JSON{Unknown: true, Null: true}).Unmarshal(doc, &head); err != nil {
		return r, err
	}
	if head.Schema != Schema || head.Kind != k.Name {
		return r, errors.New(input.Sprintf("its schema is %q of kind %q, not %q of kind %q\nhint: this version reads only its own format: play it again", head.Schema, head.Kind, Schema, k.Name))
	}
	return r, input.JSON{Unknown: true, Null: true}.Unmarshal(doc, &r)
}

// ReadFile reads a document. The error names the file.
func (k Kind[R]) ReadFile(path string) (R, error) {
	doc, err := input.ReadFile(path, input.MaxDocument)
	if err != nil {
		var none R
		return none, err
	}
	r, err := k.Decode(doc)
	if err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

func (k Kind[R]) Read(dir string) (R, error) { return k.ReadFile(filepath.Join(dir, k.Index())) }

type Stored[R Results[R]] struct {
	Dir     suite.Dir
	Results R
}

// Merged are the results of several directories together.
type Merged[R Results[R]] struct {
	Results R
	copies  []string // the files that go with them
}

// MergeDirs reads directories of shards of one search, and joins them as [Merge] does.
func (k Kind[R]) MergeDirs(dirs []string) (Merged[R], error) {
	var from []Stored[R]
	var m Merged[R]
	for i, d := range dirs {
		r, err := k.Read(d)
		if err != nil {
			return m, fmt.Errorf("%w\nhint: play it again, or leave it out", err)
		}
		from = append(from, Stored[R]{suite.Dir(d), r})
		if i == 0 {
			m.Results, err = Merge(r)
		} else {
			m.Results, err = Merge(m.Results, r)
		}
		if err != nil {
			return m, fmt.Errorf("%s does not fit: %w\nhint: of a shard that was played twice and differs keep the one that you trust; runs are the same on every machine, but for those that --stall gives up", d, err)
		}
	}
	if k.Copies != nil {
		var err error
		if m.copies, err = k.Copies(from, m.Results); err != nil {
			return m, fmt.Errorf("%w\nhint: the directory was changed since it was written: play it again, or leave it out", err)
		}
	}
	return m, nil
}

// Store writes merged results with their files, or leaves the directory as it was.
func (k Kind[R]) Store(out *disk.Dir, dir suite.Dir, m Merged[R]) error {
	return k.Replace(out, m.Results, func() error {
		for _, file := range m.copies {
			to := dir.File("finds", filepath.Base(file))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := disk.Copy(file, to); err != nil {
				return err
			}
		}
		return k.Save(dir, m.Results)
	})
}

// Replace calls write to write results anew, or leaves the directory as it was.
func (k Kind[R]) Replace(out *disk.Dir, r R, write func() error) error {
	return out.Replace(k.files(r), write)
}

// Put writes results of one command with their files, or leaves the directory as it was.
func (k Kind[R]) Put(out *disk.Dir, dir suite.Dir, r R) error {
	return k.Replace(out, r, func() error { return k.Save(dir, r) })
}

// Save writes the files of results, and then the document.
func (k Kind[R]) Save(dir suite.Dir, r R) error {
	if k.Write != nil {
		if err := k.Write(dir, r); err != nil {
			return err
		}
	}
	return disk.JSON(dir.File(k.Index()), r)
}
