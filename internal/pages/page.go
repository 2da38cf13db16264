// Package pages renders what commands show beside the reports of runs: the HTML pages of
// searches, a replayed run in every detail, and the meaning of a name.
package pages

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/holdfast-go/holdfast/reports"
)

//go:embed page.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// Tone classifies a page or a part of it.
type Tone string

// The tones.
const (
	Good      Tone = "good"      // no problem
	Argued    Tone = "argued"    // no violation, but an open question
	Attention Tone = "attention" // somebody has to look
)

// Some is the tone t for a number other than 0.
func Some(n int, t Tone) Tone {
	if n == 0 {
		return ""
	}
	return t
}

// Page is the results of a search. Every field but Kind and Asked may be empty.
type Page struct {
	Kind        string // of search, as "exploration"
	Asked       string // the question, as one sentence
	Answer      string
	Tone        Tone
	Interrupted string        // what the search did not play because somebody ended it
	Numbers     []Number      // the headline
	Bound       []string      // the statements that the numbers support
	Chart       template.HTML // already escaped
	Causes      []Group
	Finds       []Find
	Maps        []Map
	Tables      []Table
	Texts       []Text   // such as what was played
	NotPlayed   []string // what the search leaves open
	Defects     []string // of Holdfast itself
	Command     string   // repeats the search
	Version     string
}

// Number is a number of the headline.
type Number struct {
	Value, Label string
	Tone         Tone
}

// Group is causes with something in common, such as the same faults.
type Group struct {
	Title string
	Tone  Tone // of the bars; empty for [Attention]
	Rows  []Cause
}

// Cause is a row of a group.
type Cause struct {
	Count  int    // runs
	Of     int    // the largest count of the page, for the bar; 0 for no bar
	What   string // the violation
	Where  string // the first place, or the most frequent one
	Find   string // the key of its [Find]; empty for none
	Remark string // as "inherent" or "known"
}

// Find is one find of a search.
type Find struct {
	Key      string // unique on the page
	Title    string
	Tone     Tone
	Why      string
	Sizes    []Size
	Pictures []Picture
	Story    []reports.Sentence
	Command  string
	Texts    []Text // such as the scenario
}

// Size is a measure of a find, before and after shrinking.
type Size struct {
	What          string
	Before, After int
}

// Picture is a diagram with its caption.
type Picture struct {
	Title, Caption string
	Drawing        template.HTML // already escaped; empty where the page has no room for it
	Folded         bool
}

// Text is a file or a diff, which the page folds if it is long.
type Text struct {
	Title, Body string
	Folded      bool
}

// Map is a table whose colours mean how much or how bad.
type Map struct {
	Title, Note string
	Corner      string // heads the names of the rows
	Columns     []string
	Rows        []MapRow
	Legend      []Cell // an example of each cell, with its meaning as Title
}

// MapRow is a row of a map.
type MapRow struct {
	Name  string
	Cells []Cell
}

// Cell is a cell of a map. Class is "n0" to "n5" for increasing numbers, or
// "bad", "warn", "ok", "hole" and "none".
type Cell struct{ Text, Class, Title string }

// Table is numbers.
type Table struct {
	Title, Note string
	Head        []string
	Rows        [][]string
	Words       int // columns on the left that hold words
}

// Shade is the class of a cell that counts n, on a logarithmic scale up to most.
func Shade(n, most int) string {
	level := 0
	for step := n; step > 0 && level < 5; step /= 4 {
		level++
	}
	if n == most && n > 0 {
		level = max(level, 2)
	}
	return fmt.Sprintf("n%d", level)
}

// Largest sets Of of every cause to the largest count.
func Largest(groups []Group) []Group {
	most := 1
	for _, g := range groups {
		for _, c := range g.Rows {
			most = max(most, c.Count)
		}
	}
	for _, g := range groups {
		for i := range g.Rows {
			g.Rows[i].Of = most
		}
	}
	return groups
}

// Percent is the length of a cause's bar. No bar is invisible.
func (c Cause) Percent() int { return min(100, max(2, 100*c.Count/max(1, c.Of))) }

// Number reports whether a column holds numbers.
func (t Table) Number(column int) bool { return column >= t.Words }

// Lacks puts a sentence about a missing part of the results, if there is one, first
// among those that were not played.
func (p *Page) Lacks(part string) {
	if part != "" {
		p.NotPlayed = append([]string{part}, p.NotPlayed...)
		p.Tone = Attention
	}
}

// HTML writes the page. It needs no other file and no network.
func (p Page) HTML(w io.Writer) error {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		Page
		Style    template.CSS
		Patterns template.HTML
	}{p.bounded(), reports.Style() + template.CSS(pageStyle), reports.Patterns()})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	_, err = w.Write(bytes.Map(visible, b.Bytes()))
	return err
}

// visible replaces the characters of outside texts that would confuse a browser:
// control characters, and those that change the direction of writing.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return '\ufffd'
	}
	return r
}
