package search

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is a part of results for people.
type Table struct {
	Rows     [][]string // the first one is the head
	From, To int        // the columns from From to the one before To hold numbers
	Right    bool       // a text has its columns to the right
}

// Write writes the table as text for a terminal, or as Markdown for a page.
func (t Table) Write(w io.Writer, markdown bool) error {
	if !markdown {
		align, end := uint(0), ""
		if t.Right {
			align, end = tabwriter.AlignRight, "\t"
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', align)
		for _, row := range t.Rows {
			fmt.Fprintln(tw, strings.Join(row, "\t")+end)
		}
		return tw.Flush()
	}
	var err error
	for i, row := range t.Rows {
		_, err = fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		rule := "|"
		for column := range row {
			if t.From <= column && column < t.To {
				rule += "---:|"
			} else {
				rule += "---|"
			}
		}
		_, err = fmt.Fprintln(w, rule)
	}
	return err
}
