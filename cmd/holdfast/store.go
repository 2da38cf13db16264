package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/internal/whole"
)

// exploreFiles and sweepFiles are what belongs together in a directory of
// results, first what says what the others are.
var (
	exploreFiles = []string{exploreResults, "finds"}
	sweepFiles   = []string{sweepResults, "sweep.svg", "sweep.html"}
)

// writeJSON writes a document, whole or not at all.
func writeJSON(path string, v any) error {
	return whole.File(path, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		return out.Encode(v)
	})
}

// notStored ends a command whose result was printed and could not be kept, as
// when the disk is full.
func notStored(err error, out string) error {
	return defect(fmt.Errorf("keep result: %w", err), "the result above is complete; "+out+" is as it was: make room, or choose another directory with --out")
}
