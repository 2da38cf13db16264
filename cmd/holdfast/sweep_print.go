package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/sweep"
)

// sweepTable prints what came of a sweep.
type sweepTable struct{ result *sweep.Result }

// MarshalJSON makes the result itself the document.
func (t sweepTable) MarshalJSON() ([]byte, error) { return json.Marshal(t.result) }

// Text implements [document].
func (t sweepTable) Text(w io.Writer) error {
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

// Markdown implements [document].
func (t sweepTable) Markdown(w io.Writer) error {
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
