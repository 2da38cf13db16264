package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

//go:embed page.tmpl
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// HTML writes what differs as one page in the style of the report, with the
// pictures of both sides of every run whose verdicts changed.
func (d *Document) HTML(w io.Writer) error {
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
				name string
				dir  string
			}{{"before", d.Before.Dir}, {"after", d.After.Dir}} {
				if drawing, caption := drawn(suite.Dir(s.dir), r); drawing != "" {
					v.Pictures = append(v.Pictures, picture{s.name, caption, drawing})
				}
			}
		}
		runs = append(runs, v)
	}
	err := page.Execute(w, map[string]any{
		"Style": reports.Style(), "Patterns": reports.Patterns(), "Answer": d.answer(), "Worse": d.Regressed(), "Before": d.Before.words(), "After": d.After.words(), "Runs": runs,
	})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// drawn is the picture of a run of a directory, or nothing.
func drawn(dir suite.Dir, r *Run) (template.HTML, string) {
	res, err := dir.ReadResults()
	if err != nil {
		return "", ""
	}
	for i := range res.Runs {
		if x := &res.Runs[i]; keyOf(x) == (key{r.Scenario, r.Lock, r.User, r.World, r.Seed}) {
			return draw(dir, x)
		}
	}
	return "", ""
}

func draw(dir suite.Dir, r *results.Run) (template.HTML, string) {
	h, err := read(dir, r)
	if err != nil {
		return "", ""
	}
	return reports.Draw(h, r)
}
