package pages

import (
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/selftest"
)

// Detection shows what detects locks that are wrong on purpose.
type Detection struct {
	Kind, Asked, Answer, Command, Version string
	Title, Note, Corner                   string // of the map
	Columns                               []string
	Rows                                  []DetectionRow
}

type DetectionRow struct {
	Name  string
	Cells []Detected
}

// Detected counts wrong locks, or ways to detect one.
type Detected struct{ By, Missed int }

// HTML writes the page.
func (d Detection) HTML(w io.Writer) error {
	most := 1
	m := heatMap{Title: d.Title, Note: d.Note, Corner: d.Corner, Columns: d.Columns, Legend: []cell{
		{Text: "12", Class: "n2", Title: "so many detections; darker is more"}, {Text: "3 of 4", Class: "hole", Title: "the others are not detected"}, {Text: "–", Class: "none", Title: "none"}}}
	for _, r := range d.Rows {
		for _, c := range r.Cells[:len(r.Cells)-1] { // without the total
			most = max(most, c.By)
		}
	}
	p := page{Kind: d.Kind, Asked: d.Asked, Answer: d.Answer, Tone: good, Command: d.Command, Version: d.Version}
	for _, r := range d.Rows {
		row := mapRow{Name: r.Name}
		for i, c := range r.Cells {
			x := cell{Text: "–", Class: "none", Title: r.Name + ", " + d.Columns[i]}
			switch {
			case c.Missed > 0:
				p.Tone = attention
				x.Text, x.Class = fmt.Sprintf("%d of %d", c.By, c.By+c.Missed), "hole"
			case c.By > 0:
				x.Text, x.Class = fmt.Sprint(c.By), shade(min(c.By, most), most)
			}
			row.Cells = append(row.Cells, x)
		}
		m.Rows = append(m.Rows, row)
	}
	p.Maps = []heatMap{m}
	return p.writeHTML(w)
}

// Gallery is the record of the gallery, with a page.
type Gallery struct{ *selftest.TrackRecord }

// HTML writes the page: which property kills which mutant.
func (g Gallery) HTML(w io.Writer) error {
	d := Detection{
		Kind: "gallery", Asked: "Does Holdfast detect locks that are wrong on purpose?", Command: g.Command, Version: g.Version,
		Answer: fmt.Sprintf("%d of %s killed, in %s.", g.Summary.Killed, english.Count(g.Summary.Mutants, "mutant"), english.Count(g.Summary.Runs, "run")),
		Title:  "What kills each mutant", Note: "In how many scenarios a violated property kills the mutant.", Corner: "mutant",
	}
	d.Columns = append(english.Words(checker.Properties(), func(p checker.PropertyInfo) string { return string(p.Name) }), "all")
	for _, m := range g.Mutants {
		row, all := DetectionRow{Name: m.Name}, Detected{By: len(m.Killers)}
		for _, p := range checker.Properties() {
			c := Detected{}
			for _, k := range m.Killers {
				if k.Property == p.Name {
					c.By++
				}
			}
			row.Cells = append(row.Cells, c)
		}
		if all.By == 0 {
			all.Missed = 1
		}
		row.Cells = append(row.Cells, all)
		d.Rows = append(d.Rows, row)
	}
	return d.HTML(w)
}
