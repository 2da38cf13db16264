package sweep

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text prints the table and the sentences for a terminal.
func (r *Result) Text(w io.Writer) error {
	if r.Interrupted {
		fmt.Fprintf(w, "%s.\n\n", InterruptedWords)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range r.Table() {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(r.Sentences(), "\n"))
	return err
}

// Markdown prints them with the command, for a page.
func (r *Result) Markdown(w io.Writer) error {
	if r.Interrupted {
		fmt.Fprintf(w, "**%s.**\n\n", InterruptedWords)
	}
	fmt.Fprintf(w, "    %s\n\n", r.Command)
	for i, row := range r.Table() {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat("---:|", len(row)))
		}
	}
	_, err := fmt.Fprintf(w, "\n- %s\n", strings.Join(r.Sentences(), "\n- "))
	return err
}
