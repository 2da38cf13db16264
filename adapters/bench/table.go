package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// table writes rows in Markdown.
type table struct {
	w    io.Writer
	cols int
}

func newTable(w io.Writer, heads ...string) table {
	t := table{w, len(heads)}
	t.row(heads...)
	t.row(slices.Repeat([]string{"---"}, len(heads))...)
	return t
}

func (t table) row(cells ...string) {
	for len(cells) < t.cols {
		cells = append(cells, "")
	}
	fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
}

// notMeasured says why there are no numbers.
func (t table) notMeasured(name string, why error) {
	t.row(name, "not measured: "+strings.ReplaceAll(why.Error(), "|", "/"))
}

func (s spread) times() string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.median, s.low, s.high)
}

func (s spread) micros() string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", s.median, s.low, s.high)
}

// perOp lists commands per operation, the most frequent first.
func perOp(m map[string]int, n int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		if each := float64(m[name]) / float64(n); each >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %s", count(each), name))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func count(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") }

// bars are the limits that the reference lock has to keep.
type bars struct {
	regime string // of those that come now; "" if it does not matter
	rows   [][4]string
}

func (b *bars) add(what, measured string, pass bool) {
	verdict := "FAIL"
	if pass {
		verdict = "pass"
	}
	b.rows = append(b.rows, [4]string{what, b.regime, measured, verdict})
}

func (b *bars) write(w io.Writer) {
	t := newTable(w, "bar", "with", "measured", "")
	for _, r := range b.rows {
		t.row(r[0], r[1], r[2], r[3])
	}
}
