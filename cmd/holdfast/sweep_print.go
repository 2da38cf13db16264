package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/sweep"
)

// sweepTable prints what came of a sweep.
type sweepTable struct{ result *sweep.Result }

// MarshalJSON makes the result itself the document.
func (t sweepTable) MarshalJSON() ([]byte, error) { return json.Marshal(t.result) }

// text implements [table].
func (t sweepTable) text(w io.Writer) error {
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

// storeSweep writes the result, the picture and the page.
func storeSweep(dir string, r *sweep.Result, stderr io.Writer) error {
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
	for _, f := range []struct {
		name string
		data []byte
	}{{"sweep.json", doc.Bytes()}, {"sweep.svg", picture}, {"sweep.html", page}} {
		if err := writeWhole(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "page: %s\n", filepath.Join(dir, "sweep.html"))
	return nil
}

// writeWhole writes a file whole or not at all: what was there before stays
// when the disk is full.
func writeWhole(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
