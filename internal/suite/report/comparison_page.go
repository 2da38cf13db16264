package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

//go:embed comparison.tmpl
var comparisonSource string

var comparisonPage = template.Must(template.New("comparison").Parse(comparisonSource))

// HTML writes what differs as one page in the style of the report, with the
// pictures of both sides of every run whose verdicts changed.
func (d *Comparison) HTML(w io.Writer) error {
	type picture struct {
		Side, Caption string
		Drawing       template.HTML
	}
	type view struct {
		Title, Change string
		Lines         []string
		Pictures      []picture
	}
	var runs []view
	for i := range d.Runs {
		r := &d.Runs[i]
		v := view{Title: r.title(), Change: titles[r.Change], Lines: r.lines()}
		if len(r.Verdicts) > 0 {
			for _, s := range []struct {
				name, dir string
				run       *results.Run
			}{{"before", d.Before.Dir, r.before}, {"after", d.After.Dir, r.after}} {
				if h, err := readHistory(suite.Dir(s.dir), s.run); err == nil {
					drawing, caption := reports.Draw(h, s.run)
					v.Pictures = append(v.Pictures, picture{s.name, caption, drawing})
				}
			}
		}
		runs = append(runs, v)
	}
	err := comparisonPage.Execute(w, map[string]any{
		"Style": reports.Style(), "Patterns": reports.Patterns(), "Answer": d.answer(), "Worse": d.Regressed(), "Before": d.Before.words(), "After": d.After.words(), "Runs": runs,
	})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
