package selftest

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is a list of mutants as text or as Markdown, with a sentence below.
type table struct {
	head     []string
	numbers  int // the columns from this one to the one before the last are numbers
	rows     [][]string
	sentence string
}

func (t table) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", t.sentence)
	return err
}

// markdown writes the command first.
func (t table) markdown(w io.Writer, command string) error {
	fmt.Fprintf(w, "    %s\n\n| %s |\n|", command, strings.Join(t.head, " | "))
	for i := range t.head {
		if i >= t.numbers && i < len(t.head)-1 {
			fmt.Fprint(w, "---:|")
		} else {
			fmt.Fprint(w, "---|")
		}
	}
	fmt.Fprintln(w)
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", t.sentence)
	return err
}
