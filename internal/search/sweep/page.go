package sweep

import (
	"html/template"
	"io"

	"github.com/holdfast-go/holdfast/internal/pages/searches"
)

// HTML writes the sweep as one page.
func (r *Result) HTML(w io.Writer) error {
	picture, err := r.picture()
	if err != nil {
		return err
	}
	table := r.table()
	p := searches.Page{
		Kind: "sweep", Asked: r.plan.Scenario.Title, Command: r.Command, Version: r.Version, Bound: r.sentences(),
		Chart: template.HTML(picture), Tables: []searches.Table{{Title: "Numbers", Head: table[0], Rows: table[1:], Words: 1}},
		Texts: []searches.Text{{Title: "The scenario, as a file", Body: r.Source, Folded: true}},
	}
	if r.Interrupted {
		p.Interrupted = interruptedWords + "."
	}
	p.Lacks(r.Lacks())
	return p.HTML(w)
}
