package sweep

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

var page = template.Must(template.New("page").Parse(pageSource))

// HTML writes the sweep as one page.
func (r *Result) HTML(w io.Writer) error {
	picture, err := r.picture()
	if err != nil {
		return err
	}
	page, err := r.page(picture)
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

// page is the sweep as one HTML file that needs nothing else, with a picture
// of [Result.picture].
func (r *Result) page(picture []byte) ([]byte, error) {
	table := r.Table()
	var b bytes.Buffer
	interrupted := ""
	if r.Interrupted {
		interrupted = InterruptedWords
	}
	err := page.Execute(&b, map[string]any{
		"Style": reports.Style(), "Title": r.plan.Scenario.Title, "Name": r.Scenario, "Lock": r.Lock, "Story": r.plan.Scenario.Story,
		"Sentences": r.Sentences(), "Picture": template.HTML(picture), "Head": table[0], "Rows": table[1:],
		"Interrupted": interrupted, "Command": r.Command, "Version": r.Version, "Source": r.Source,
	})
	if err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return b.Bytes(), nil
}
