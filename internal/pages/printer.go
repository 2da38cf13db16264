package pages

import (
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/internal/search"
)

// printer writes text for a terminal, or Markdown. It keeps the first error, and writes
// nothing after it.
type printer struct {
	w        io.Writer
	markdown bool
	err      error
}

func (p *printer) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) table(t search.Table) {
	if p.err == nil {
		p.err = t.Write(p.w, p.markdown)
	}
}

// titled writes a table that has rows below its head, with a title and a blank line
// above.
func (p *printer) titled(title string, rows [][]string) {
	if len(rows) > 1 {
		p.print("\n%s:\n\n", title)
		p.table(search.Table{Rows: rows})
	}
}
