package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/sweep"
)

// sweepTable prints what came of a sweep.
type sweepTable struct{ result *sweep.Result }

// MarshalJSON makes the result itself the document.
func (t sweepTable) MarshalJSON() ([]byte, error) { return json.Marshal(t.result) }

// text implements [table].
func (t sweepTable) text(w io.Writer) error {
	if t.result.Interrupted {
		fmt.Fprintf(w, "%s.\n\n", sweep.InterruptedWords)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.result.Table() {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(t.result.Sentences(), "\n"))
	return err
}

// markdown implements [table].
func (t sweepTable) markdown(w io.Writer) error {
	if t.result.Interrupted {
		fmt.Fprintf(w, "**%s.**\n\n", sweep.InterruptedWords)
	}
	fmt.Fprintf(w, "    %s\n\n", t.result.Command)
	for i, row := range t.result.Table() {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat("---:|", len(row)))
		}
	}
	_, err := fmt.Fprintf(w, "\n- %s\n", strings.Join(t.result.Sentences(), "\n- "))
	return err
}

// storeSweep writes the result, the picture and the page, or leaves the directory
// as it was.
func storeSweep(out *outdir.Dir, dir string, r *sweep.Result, stderr io.Writer) error {
	var doc bytes.Buffer
	if err := printTable(&doc, "json", sweepTable{r}); err != nil {
		return err
	}
	picture, err := r.Picture()
	if err != nil {
		return err
	}
	page, err := r.Page(picture)
	if err != nil {
		return err
	}
	err = out.Replace(sweepFiles, func() error {
		for _, f := range []struct {
			name string
			data []byte
		}{{"sweep.svg", picture}, {"sweep.html", page}, {sweepResults, doc.Bytes()}} {
			if err := whole.Bytes(filepath.Join(dir, f.name), f.data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "page: %s\n", filepath.Join(dir, "sweep.html"))
	return nil
}
