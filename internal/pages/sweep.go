package pages

import (
	"html/template"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
)

type Sweep struct{ *sweep.Result }

func (r Sweep) HTML(w io.Writer) error {
	picture, err := r.Picture()
	if err != nil {
		return err
	}
	rows := r.Table()
	p := page{
		Kind: "sweep", Asked: r.Question(), Command: r.Command, Version: r.Version, Bound: r.Sentences(),
		Chart: template.HTML(picture), Tables: []table{{Title: "Numbers", Head: rows[0], Rows: rows[1:], Words: 1}},
		Texts: []text{{Title: "The scenario, as a file", Body: r.Source, Folded: true}},
	}
	if r.Interrupted {
		p.Interrupted = sweep.InterruptedWords + "."
	}
	p.addLacks(r.Lacks())
	return p.writeHTML(w)
}

// Text prints the table and the sentences for a terminal.
func (r Sweep) Text(w io.Writer) error { return r.print(&printer{w: w}) }

// Markdown prints them with the command, for a page.
func (r Sweep) Markdown(w io.Writer) error { return r.print(&printer{w: w, markdown: true}) }

func (r Sweep) print(to *printer) error {
	emphasis, bullet := "", ""
	if to.markdown {
		emphasis, bullet = "**", "- "
	}
	if r.Interrupted {
		to.print("%s%s.%s\n\n", emphasis, sweep.InterruptedWords, emphasis)
	}
	if to.markdown {
		to.print("    %s\n\n", r.Command)
	}
	rows := r.Table()
	to.table(search.Table{Rows: rows, To: len(rows[0])})
	to.print("\n%s%s\n", bullet, strings.Join(r.Sentences(), "\n"+bullet))
	return to.err
}
