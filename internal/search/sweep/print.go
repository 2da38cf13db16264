package sweep

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/search"
)

// Text prints the table and the sentences for a terminal.
func (r *Result) Text(w io.Writer) error { return r.print(w, false) }

// Markdown prints them with the command, for a page.
func (r *Result) Markdown(w io.Writer) error { return r.print(w, true) }

func (r *Result) print(w io.Writer, markdown bool) error {
	emphasis, bullet, repeated := "", "", ""
	if markdown {
		emphasis, bullet, repeated = "**", "- ", "    "+r.Command+"\n\n"
	}
	if r.Interrupted {
		fmt.Fprintf(w, "%s%s.%s\n\n", emphasis, interruptedWords, emphasis)
	}
	fmt.Fprint(w, repeated)
	rows := r.table()
	if err := (search.Table{Rows: rows, To: len(rows[0])}).Write(w, markdown); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s%s\n", bullet, strings.Join(r.sentences(), "\n"+bullet))
	return err
}
