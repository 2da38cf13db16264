package chart

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Grid has a mark for each row and column.
type Grid struct {
	Corner     string // the heading of the row names
	Rows, Cols []string
	Mark       func(row, col int) string
	Width      int // the most characters of a line
	// Paint colours the mark of a cell, which has got its width; nil for no colours.
	Paint func(row, col int, mark string) string
}

// maxName is the most characters of the name of a row.
const maxName = 40

// Write writes the grid. Letters replace column heads that do not fit, and a
// legend explains them. Columns that still do not fit continue in a grid of their
// own.
func (g Grid) Write(w io.Writer) {
	first := utf8.RuneCountInString(g.Corner)
	for _, r := range g.Rows {
		first = max(first, utf8.RuneCountInString(r))
	}
	first = min(first, maxName, g.Width/2)
	heads, widths, total := make([][]string, len(g.Cols)), make([]int, len(g.Cols)), 0
	for i, c := range g.Cols {
		heads[i] = wrapHead(c)
		widths[i] = max(4, g.marks(i))
		for _, line := range heads[i] {
			widths[i] = max(widths[i], utf8.RuneCountInString(line))
		}
		total += widths[i] + 2
	}
	if first+total <= g.Width {
		g.block(w, first, heads, widths, 0, len(g.Cols), 2)
		return
	}
	for i := range heads {
		heads[i], widths[i] = []string{letters(i)}, max(len(letters(i)), g.marks(i))
	}
	for from := 0; from < len(g.Cols); {
		to, used := from, first
		for to < len(g.Cols) && (used+widths[to]+1 <= g.Width || to == from) {
			used += widths[to] + 1
			to++
		}
		g.block(w, first, heads, widths, from, to, 1)
		from = to
	}
	for i, c := range g.Cols {
		fmt.Fprintf(w, "%4s  %s\n", letters(i), c)
	}
	fmt.Fprintln(w)
}

// marks is the width of the marks of a column.
func (g Grid) marks(col int) int {
	n := 1
	for r := range g.Rows {
		n = max(n, utf8.RuneCountInString(g.Mark(r, col)))
	}
	return n
}

// block writes some of the columns.
func (g Grid) block(w io.Writer, first int, heads [][]string, widths []int, from, to, gap int) {
	height := 0
	for _, h := range heads[from:to] {
		height = max(height, len(h))
	}
	apart := strings.Repeat(" ", gap)
	for line := range height {
		corner := ""
		if line == height-1 {
			corner = g.Corner
		}
		row := fmt.Sprintf("%-*s", first, corner)
		for i := from; i < to; i++ {
			// Heads stand on the line above the marks.
			text, n := "", line-(height-len(heads[i]))
			if n >= 0 {
				text = heads[i][n]
			}
			row += apart + center(text, widths[i])
		}
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
	for r, name := range g.Rows {
		row := fmt.Sprintf("%-*s", first, short(name, first))
		for i := from; i < to; i++ {
			mark := center(g.Mark(r, i), widths[i])
			if g.Paint != nil {
				mark = g.Paint(r, i, mark)
			}
			row += apart + mark
		}
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
	fmt.Fprintln(w)
}

func short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func center(s string, n int) string {
	left := max(0, n-utf8.RuneCountInString(s)) / 2
	return fmt.Sprintf("%-*s", n, strings.Repeat(" ", left)+s)
}

// letters names columns a, b, ..., z, aa, ab, ...
func letters(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('a'+(i-1)%26)) + s
	}
	return s
}

// wrapHead breaks a column head before a hyphen if a line would be longer than
// nine characters, and anywhere if it has no hyphen.
func wrapHead(s string) []string {
	const most = 9
	var lines []string
	line := ""
	for i, part := range strings.Split(s, "-") {
		if i > 0 {
			part = "-" + part
		}
		if line != "" && utf8.RuneCountInString(line+part) > most {
			lines = append(lines, line)
			line = ""
		}
		line += part
		for utf8.RuneCountInString(line) > most {
			r := []rune(line)
			lines = append(lines, string(r[:most]))
			line = string(r[most:])
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > 5 {
		lines = append(slices.Clone(lines[:4]), "…")
	}
	return lines
}
