package main

import (
	"encoding/json"
	"errors"
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
