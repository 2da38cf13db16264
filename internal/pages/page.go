// Package pages renders the texts and pages of commands, beside the reports of runs. It has
// the results of searches, a replayed run in every detail, and the meaning of a name.
package pages

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports"
)

//go:embed page.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// tone classifies a page or a part of it.
type tone string

// The tones.
const (
	good      tone = "good"      // no problem
	argued    tone = "argued"    // no violation, but an open question
	attention tone = "attention" // somebody has to look
)

// toneOf is the tone t for a number other than 0.
func toneOf(n int, t tone) tone {
	if n == 0 {
		return ""
	}
	return t
}

// page is the results of a search. Every field but Kind and Asked may be empty.
type page struct {
	Kind        string // of search, as "exploration"
	Asked       string // the question, as one sentence
	Answer      string
	Tone        tone
	Interrupted string        // what the search did not play because somebody ended it
	Numbers     []number      // the headline
	Bound       []string      // the statements that the numbers support
	Chart       template.HTML // already escaped
	Causes      []group
	Heading     string // of the finds, by default "Finds"
	Finds       []find
	Maps        []heatMap
	Tables      []table
	Texts       []text   // such as what was played
	NotPlayed   []string // what the search leaves open
	Defects     []string // of Holdfast itself
	Command     string   // repeats the search
	Version     string
}

type number struct {
	Value, Label string
	Tone         tone
}

// group is causes with something in common, such as the same faults.
type group struct {
	Title string
	Tone  tone // of the bars; empty for [attention]
	Rows  []causeRow
}

type causeRow struct {
	Count  int    // runs
	Of     int    // the largest count of the page, for the bar; 0 for no bar
	What   string // the violation
	Where  string // the first place, or the most frequent one
	Find   string // the key of its [find]; empty for none
	Remark string // as "inherent" or "known"
}

type find struct {
	Key      string // unique on the page
	Title    string
	Tone     tone
	Why      string
	Sizes    []sizeRow
	Pictures []picture
	Story    []story.Sentence
	Command  string
	Texts    []text // such as the scenario
}

// sizeRow is a measure of a find, before and after shrinking.
type sizeRow struct {
	What          string
	Before, After int
}

type picture struct {
	Title, Caption string
	Drawing        template.HTML // already escaped; empty where the page has no room for it
	Folded         bool
}

// text is a file or a diff, which the page folds if it is long.
type text struct {
	Title, Body string
	Folded      bool
}

// heatMap is a table whose colours mean how much or how bad.
type heatMap struct {
	Title, Note string
	Corner      string // heads the names of the rows
	Columns     []string
	Rows        []mapRow
	Legend      []cell // an example of each cell, with its meaning as Title
}

type mapRow struct {
	Name  string
	Cells []cell
}

// cell is a cell of a map. Class is "n0" to "n5" for increasing numbers, or
// "bad", "warn", "ok", "hole" and "none".
type cell struct{ Text, Class, Title string }

type table struct {
	Title, Note string
	Head        []string
	Rows        [][]string
	Words       int // columns on the left that hold words
}

// shade is the class of a cell that counts n, on a logarithmic scale up to most.
func shade(n, most int) string {
	level := 0
	for step := n; step > 0 && level < 5; step /= 4 {
		level++
	}
	if n == most && n > 0 {
		level = max(level, 2)
	}
	return fmt.Sprintf("n%d", level)
}

// setLargest sets Of of every cause to the largest count.
func setLargest(groups []group) []group {
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
func (c causeRow) Percent() int { return min(100, max(2, 100*c.Count/max(1, c.Of))) }

// Number reports whether a column holds numbers.
func (t table) Number(column int) bool { return column >= t.Words }

// setTone says by a color that results are bad, or else that they are doubtful.
func (p *page) setTone(bad, doubtful bool) {
	switch {
	case bad:
		p.Tone = attention
	case doubtful:
		p.Tone = argued
	}
}

// addLacks puts a sentence about a missing part of the results, if there is one, first
// among those that were not played.
func (p *page) addLacks(part string) {
	if part != "" {
		p.NotPlayed = append([]string{part}, p.NotPlayed...)
		p.Tone = attention
	}
}

// writeHTML writes the page. It needs no other file and no network.
func (p page) writeHTML(w io.Writer) error {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		page
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
