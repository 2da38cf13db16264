package reports

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTextWidth is how wide the matrix may get before its columns are lettered.
const maxTextWidth = 132

// textGrid writes one row for each scenario and one column for each lock.
func textGrid(w *bufio.Writer, m *matrix, mark func(scenario, lock string) string) {
	heads := make([][]string, len(m.locks))
	widths, marks := make([]int, len(m.locks)), make([]int, len(m.locks))
	height, total := 0, 0
	for i, l := range m.locks {
		heads[i] = wrapHead(name(l))
		widths[i] = 4
		for _, s := range m.scenarios {
			widths[i] = max(widths[i], utf8.RuneCountInString(mark(s, l)))
		}
		marks[i] = widths[i]
		for _, line := range heads[i] {
			widths[i] = max(widths[i], utf8.RuneCountInString(line))
		}
		height = max(height, len(heads[i]))
		total += widths[i] + 2
	}
	first := 8
	for _, s := range m.scenarios {
		first = max(first, utf8.RuneCountInString(name(s)))
	}
	first = min(first, 40)
	lettered := first+total > maxTextWidth
	if lettered {
		height = 1
		for i := range heads {
			heads[i], widths[i] = []string{letters(i)}, marks[i]
		}
	}

	for line := range height {
		row := pad("", first)
		if line == height-1 {
			row = pad("scenario", first)
		}
		for i := range heads {
			// Heads stand on the line above the marks.
			text, n := "", line-(height-len(heads[i]))
			if n >= 0 {
				text = heads[i][n]
			}
			row += "  " + center(text, widths[i])
		}
		writeRow(w, row)
	}
	for _, s := range m.scenarios {
		row := pad(short(name(s), first), first)
		for i, l := range m.locks {
			row += "  " + center(mark(s, l), widths[i])
		}
		writeRow(w, row)
	}
	fmt.Fprintln(w)
	if lettered {
		for i, l := range m.locks {
			fmt.Fprintf(w, "%4s  %s\n", letters(i), name(l))
		}
		fmt.Fprintln(w)
	}
}

// letters names columns a, b, ..., z, aa, ab, ...
func letters(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('a'+(i-1)%26)) + s
	}
	return s
}

// wrapHead breaks a column head before a hyphen where a line would be longer
// than nine characters, and hard where there is none.
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
