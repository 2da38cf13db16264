package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mutant is one change of one place.
type Mutant struct {
	// ID is file:line:operator, with #2 for the second of an operator in a line.
	ID       string `json:"id"`
	File     string `json:"-"` // from the root of the module, with slashes
	Line     int    `json:"-"`
	Operator string `json:"-"`
	Func     string `json:"func"`   // where the change is: a function, or a script
	Source   string `json:"source"` // the line, without spaces around it
	Diff     string `json:"-"`      // the lines before and after the change

	number int // number of its switch, from 1
	at     edit
}

// operators are the rules that make mutants, with a description of each.
var operators = []struct{ name, does string }{
	{"negate", "negates a condition, or an operand of `&&` and `||`"},
	{"boundary", "adds equality to a comparison of order, or takes it away"},
	{"drop", "drops a statement"},
	{"drop-defer", "drops a deferred call"},
	{"constant", "adds one to a whole number, or turns true and false into one another"},
	{"tenfold", "takes ten times a duration"},
	{"tenth", "takes a tenth of a duration"},
	{"lua-drop", "drops a `redis.call`; where its reply is used, the reply says that there is nothing"},
	{"lua-flip", "turns a comparison of a script into its opposite, and drops `not`"},
	{"lua-boundary", "adds equality to a comparison of order in a script, or takes it away"},
	{"lua-swap", "swaps two neighbouring arguments of a `redis.call`"},
	{"lua-constant", "adds one to a whole number of a script"},
}

// operatorNames are the names of all operators.
func operatorNames() []string {
	var names []string
	for _, o := range operators {
		names = append(names, o.name)
	}
	return names
}

// describe describes an operator in a cell of a table.
func describe(operator string) string {
	for _, o := range operators {
		if o.name == operator {
			return strings.ReplaceAll(o.does, "|", `\|`)
		}
	}
	return ""
}

// edit replaces the bytes of a text from pos to end.
type edit struct {
	pos, end int
	with     string
}

// apply returns the text with the edit.
func (e edit) apply(text string) string { return text[:e.pos] + e.with + text[e.end:] }

// newMutant describes the edit of a file.
func newMutant(file, text, operator, where string, e edit) *Mutant {
	line := strings.Count(text[:e.pos], "\n") + 1
	return &Mutant{File: file, Line: line, Operator: operator, Func: where, Source: lineAt(text, e.pos), Diff: diff(text, e), at: e}
}

// lineAt is the line that has the byte at pos.
func lineAt(text string, pos int) string {
	from := strings.LastIndexByte(text[:pos], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return strings.TrimSpace(line)
}

// diff is the changed lines before and after an edit, without their common
// indentation.
func diff(text string, e edit) string {
	from := strings.LastIndexByte(text[:e.pos], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[e.end:], '\n'); i >= 0 {
		to = e.end + i
	}
	before := strings.Split(text[from:to], "\n")
	after := strings.Split(text[from:e.pos]+e.with+text[e.end:to], "\n")
	indent := before[0][:len(before[0])-len(strings.TrimLeft(before[0], " \t"))]
	var b strings.Builder
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"-", before}, {"+", after}} {
		for _, l := range side.lines {
			if strings.TrimSpace(l) != "" {
				fmt.Fprintf(&b, "%s %s\n", side.mark, strings.TrimPrefix(l, indent))
			}
		}
	}
	return b.String()
}

// identify sorts mutants by place, and sets their ids.
func identify(all []*Mutant) {
	slices.SortStableFunc(all, func(a, b *Mutant) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.at.pos-b.at.pos, b.at.end-a.at.end)
	})
	nth := map[string]int{}
	for _, m := range all {
		m.ID = fmt.Sprintf("%s:%d:%s", m.File, m.Line, m.Operator)
		nth[m.ID]++
		if n := nth[m.ID]; n > 1 {
			m.ID += fmt.Sprintf("#%d", n)
		}
	}
}
