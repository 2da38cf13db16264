package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/terminal"
)

func printJSON(w io.Writer, v any) error { return disk.EncodeJSON(w, v) }

// notStored ends a command that printed its result but could not store it, for
// example on a full disk.
func notStored(err error, out string) error {
	e := &exitError{code: exitDefect, msg: "keep result: " + err.Error(), err: err,
		hints: []string{"the result above is complete; what was in " + out + " is as it was"}}
	if _, ok := errors.AsType[*suite.KilledError](err); ok {
		e.code, e.hints = exitUnknown, append(e.hints, workers.KilledHint)
		return e
	}
	e.hints = append(e.hints, "where there is no room make some, or choose another directory with --out")
	return e
}

// openOut opens the directory of --out for results of a kind, and creates it if
// necessary. It keeps the old content until new results exist.
func openOut(path string, kind disk.Kind) (*disk.Dir, error) {
	out, err := disk.Open(path, kind)
	if err != nil {
		return nil, badOut(err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, badOut(fmt.Errorf("output directory: %w", err))
	}
	return out, nil
}

// document is a result that renders itself. Its fields form a JSON document.
type document interface {
	Text(w io.Writer) error
	Markdown(w io.Writer) error
}

// printDocument prints a result in a format of documents.
func printDocument(w io.Writer, format string, d document) (err error) {
	switch format {
	case "json":
		err = printJSON(w, d)
	case "markdown":
		err = d.Markdown(w)
	case "sarif":
		err = d.(interface{ SARIF(io.Writer) error }).SARIF(w)
	default:
		err = terminal.Print(w, d.Text)
	}
	if err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	return nil
}

// formatFlag adds --format. The first format is the default.
func formatFlag(c *cobra.Command, format *string, formats []string, usageText string) {
	c.Flags().StringVar(format, "format", formats[0], usageText)
	complete(c, "format", formats)
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *format) {
			return usage(fmt.Sprintf("unknown format %q", *format), didYouMean(*format, formats), "formats: "+strings.Join(formats, ", "))
		}
		return nil
	}
}

var tableFormats = []string{"text", "json", "markdown"}

// outputFlags are the flags of commands that print a document.
type outputFlags struct{ format, html string }

// flags adds the flags. what describes the output, page the default of --html. more are
// formats that the document has beside the usual ones.
func (f *outputFlags) flags(c *cobra.Command, what, page string, more ...string) {
	formats := slices.Concat(tableFormats, more)
	formatFlag(c, &f.format, formats, what+": "+english.Or(formats))
	c.Flags().StringVar(&f.html, "html", "", "also write a page to this file"+page)
}

func (f outputFlags) check() error {
	return checkFiles("--html", f.html)
}

// checkFiles refuses a file that the command could not write at its end.
func checkFiles(flag, path string) error {
	if path == "" {
		return nil
	}
	if err := disk.Possible(path); err != nil {
		return badInput(fmt.Errorf("%s: %w", flag, err), "nothing was played; name a file in a directory that is there")
	}
	return nil
}

type rendered interface {
	document
	HTML(w io.Writer) error
}

// printStored prints a result that was stored, or could not be. The page stands beside
// stored results, unless the user names another file.
func (f outputFlags) printStored(c *cobra.Command, page string, stored error, d rendered) error {
	if stored == nil {
		f.html = cmp.Or(f.html, page)
	}
	if err := f.print(c, d); err != nil {
		return err
	}
	if stored != nil {
		return notStored(stored, filepath.Dir(page))
	}
	return nil
}

// print prints a result, and writes its page.
func (f outputFlags) print(c *cobra.Command, d rendered) error {
	if err := printDocument(c.OutOrStdout(), f.format, d); err != nil || f.html == "" {
		return err
	}
	if err := disk.File(f.html, d.HTML); err != nil {
		return notStored(err, filepath.Dir(f.html))
	}
	fmt.Fprintf(c.ErrOrStderr(), "page: %s\n", f.html)
	return nil
}
