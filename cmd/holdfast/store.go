package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/sweep"
)

// exploreKind and sweepKind are the kinds of results beside run directories.
var (
	exploreKind = outdir.Kind{
		Index:    exploreResults,
		Patterns: []string{"finds/*.yaml", "finds/*.jsonl", "finds/*.txt"},
		Names: func(doc []byte) ([]string, error) {
			var r explore.Results
			if err := readSchema(doc, explore.Schema, &r); err != nil {
				return nil, err
			}
			return exploreFiles(r.Causes), nil
		},
	}
	sweepKind = outdir.Kind{
		Index:    sweepResults,
		Patterns: sweepFiles,
		Names: func(doc []byte) ([]string, error) {
			return slices.Clone(sweepFiles), readSchema(doc, sweep.Schema, nil)
		},
	}
)

// sweepFiles are the files beside sweep.json.
var sweepFiles = []string{"sweep.svg", "sweep.html"}

// exploreFiles are the files that may be written for some finds.
func exploreFiles(causes []explore.Found) []string {
	var names []string
	for _, c := range causes {
		for _, ext := range []string{".yaml", ".jsonl", ".shrunk.yaml", ".shrunk.jsonl", ".shrunk.txt"} {
			names = append(names, "finds/"+c.Key+ext)
		}
	}
	return names
}

// readSchema reads a document of a schema, and refuses any other.
func readSchema(doc []byte, schema string, to any) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return err
	}
	if head.Schema != schema {
		return fmt.Errorf("the schema is %q, not %q", head.Schema, schema)
	}
	if to == nil {
		return nil
	}
	return json.Unmarshal(doc, to)
}

// writeJSON writes a document, whole or not at all.
func writeJSON(path string, v any) error {
	return whole.File(path, func(w io.Writer) error { return printJSON(w, v) })
}

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// notStored ends a command whose result was printed and could not be kept, as
// when the disk is full.
func notStored(err error, out string) error {
	e := &exitError{code: exitDefect, msg: "keep result: " + err.Error(), err: err,
		hints: []string{"the result above is complete; what was in " + out + " is as it was"}}
	var inner *exitError
	if errors.As(err, &inner) && inner.code == exitUnknown { // a run that could not be played
		e.code, e.hints = exitUnknown, append(e.hints, inner.hints...)
		return e
	}
	e.hints = append(e.hints, "where there is no room make some, or choose another directory with --out")
	return e
}

// openOut opens the directory of --out for results of a kind, and makes it when
// it is not there. What it holds stays until there are new results.
func openOut(path string, kind outdir.Kind) (*outdir.Dir, error) {
	out, err := outdir.Open(path, kind)
	if err != nil {
		return nil, badOut(err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, badOut(fmt.Errorf("output directory: %w", err))
	}
	return out, nil
}
