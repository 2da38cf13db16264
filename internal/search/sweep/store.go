package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/input"
)

// Index is the file of a directory that holds a result as JSON.
const Index = "sweep.json"

// beside are the files beside the [Index].
var beside = []string{"sweep.svg", PageFile}

// PageFile is the file of a directory that shows a result in a browser.
const PageFile = "sweep.html"

// Directory describes the files of a directory of a sweep.
var Directory = disk.Kind{
	Index:    Index,
	Patterns: beside,
	Names: func(doc []byte) ([]string, error) {
		var head struct {
			Schema string `json:"schema"`
		}
		if err := (input.JSON{Unknown: true, Null: true}).Unmarshal(doc, &head); err != nil {
			return nil, err
		}
		return slices.Clone(beside), checkSchema(head.Schema)
	},
}

func checkSchema(schema string) error {
	if schema != Schema {
		return errors.New(input.Sprintf("the schema is %q, not %q", schema, Schema))
	}
	return nil
}

// Store writes the result, the picture and the page to a directory, or leaves
// the directory as it was.
func (r *Result) Store(out *disk.Dir, dir string) error {
	picture, err := r.picture()
	if err != nil {
		return err
	}
	page, err := r.page(picture)
	if err != nil {
		return err
	}
	return out.Replace(beside, func() error {
		if err := disk.Bytes(filepath.Join(dir, "sweep.svg"), picture); err != nil {
			return err
		}
		if err := disk.Bytes(filepath.Join(dir, PageFile), page); err != nil {
			return err
		}
		return disk.JSON(filepath.Join(dir, Index), r)
	})
}

// MergeDirs joins the results of some directories, see [Merge].
func MergeDirs(dirs []string) (*Result, error) {
	var all []*Result
	for _, dir := range dirs {
		r, err := readDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\nhint: a sweep is what holdfast sweep --out writes; play it again, or leave it out", dir, err)
		}
		all = append(all, r)
	}
	r, err := Merge(all...)
	if err != nil {
		return nil, fmt.Errorf("%w\nhint: a shard that was played twice and differs: keep the one that you trust; runs are the same on every machine, but for those that --stall gives up", err)
	}
	return r, nil
}

func readDir(dir string) (*Result, error) {
	file, err := os.Open(filepath.Join(dir, Index))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadResult(file)
}
