package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

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
