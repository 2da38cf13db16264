package exhaustive

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Text prints the results for people.
func (r Results) Text(w io.Writer) error {
	return r.print(w, func(rows [][]string) error {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		return tw.Flush()
	})
}

// Markdown prints the results with tables as GitHub shows them.
func (r Results) Markdown(w io.Writer) error {
	return r.print(w, func(rows [][]string) error {
		for i, row := range rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintln(w, "|"+strings.Repeat("---|", len(row)))
			}
		}
		return nil
	})
}

func (r Results) print(w io.Writer, table func([][]string) error) error {
	if r.Interrupted {
		fmt.Fprintf(w, "Interrupted: not all placements were played.\n\n")
	}
	if err := table(r.counts()); err != nil {
		return err
	}
	for _, part := range []struct {
		title  string
		causes []Cause
	}{{"violated", r.Violated}, {"inherent: no lock with these claims could have avoided it", r.Inherent}} {
		if len(part.causes) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n\n", part.title)
		if err := table(causeRows(part.causes)); err != nil {
			return err
		}
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(w, "\nproved nothing:\n\n")
		rows := [][]string{{"runs", "because"}}
		for _, why := range slices.Sorted(maps.Keys(r.Unknown)) {
			rows = append(rows, []string{fmt.Sprint(r.Unknown[why]), why})
		}
		if err := table(rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// sentence sums the results up.
func (r Results) sentence() string {
	t := r.Total()
	text := fmt.Sprintf("Every single fault of %s: %s, %d played, %d inherent by %s, %d violated by %s, %d proved nothing; %s.",
		r.Lock, english.Count(len(r.Bases), "base"), t.Played, t.Inherent, english.Count(len(r.Inherent), "cause"),
		t.Violated, english.Count(len(r.Violated), "cause"), t.Unknown, english.Span(time.Duration(r.WallMS)*time.Millisecond))
	if r.Of > 1 {
		text = fmt.Sprintf("Shard %d of %d. ", r.Shard, r.Of) + text
	}
	return text
}

func (r Results) counts() [][]string {
	rows := [][]string{{"base", "moments", "placements", "not available", "target absent", "played", "not struck", "unknown", "inherent", "violated"}}
	for _, b := range r.Bases {
		row := []string{b.Name}
		for _, n := range []int{b.Moments, b.Placements, b.NotPlayed[Unavailable], b.NotPlayed[Absent], b.Played, b.NotStruck, b.Unknown, b.Inherent, b.Violated} {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, row)
	}
	return rows
}

func causeRows(causes []Cause) [][]string {
	rows := [][]string{{"runs", "property", "fault", "at", "because", "first"}}
	for _, c := range causes {
		first := c.First
		if c.File != "" {
			first = c.File
		}
		rows = append(rows, []string{fmt.Sprint(c.Count), string(c.Property), c.Fault, c.Phase, c.Class, first})
	}
	return rows
}
