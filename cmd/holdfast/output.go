package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

func printJSON(w io.Writer, v any) error { return whole.EncodeJSON(w, v) }

// notStored ends a command whose result was printed and could not be kept, as
// when the disk is full.
func notStored(err error, out string) error {
	e := &exitError{code: exitDefect, msg: "keep result: " + err.Error(), err: err,
		hints: []string{"the result above is complete; what was in " + out + " is as it was"}}
	var killed *suite.KilledError
	if errors.As(err, &killed) {
		e.code, e.hints = exitUnknown, append(e.hints, workers.KilledHint)
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

// table is a result that is one table: it prints itself for people, and is a
// JSON document by its fields.
type table interface {
	text(w io.Writer) error
	markdown(w io.Writer) error
}

func printTable(w io.Writer, format string, t table) error {
	switch format {
	case "json":
		return printJSON(w, t)
	case "markdown":
		return t.markdown(w)
	}
	return t.text(w)
}

// What the flags that several commands have must be.

func checkFormat(format string, formats []string) error {
	if !slices.Contains(formats, format) {
		return usage(fmt.Sprintf("unknown format %q", format), didYouMean(format, formats), "formats: "+strings.Join(formats, ", "))
	}
	return nil
}

func checkWorkers(workers int, stall time.Duration) error {
	if workers < 1 || workers > 256 {
		return usage("--workers must be from 1 to 256")
	}
	if stall < time.Second {
		return usage("--stall must be at least 1s")
	}
	return nil
}
