package pages

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/reports"
)

// checkSchema names the format of [Checked] as JSON.
const checkSchema = "holdfast-check/1"

// Checked is the verdicts on some histories, without expectations.
type Checked struct {
	Schema    string           `json:"schema"`
	Histories []CheckedHistory `json:"histories"`
}

// CheckedHistory is the verdicts on one history, by property. A property without an
// entry is not claimed by the lock.
type CheckedHistory struct {
	Name     string                               `json:"name"` // of the file, or "stdin"
	Scenario string                               `json:"scenario"`
	Lock     string                               `json:"lock"`
	World    string                               `json:"world"`
	Seed     uint64                               `json:"seed"`
	CutOffAt *float64                             `json:"cut_off_at_ms,omitempty"` // when the recording was killed
	Verdicts map[checker.Property]checker.Verdict `json:"verdicts"`
}

func NewChecked(histories ...CheckedHistory) Checked {
	return Checked{Schema: checkSchema, Histories: append([]CheckedHistory{}, histories...)}
}

func VerdictsOn(name string, h *history.History, judged checker.Report) CheckedHistory {
	v := CheckedHistory{Name: name, Scenario: h.Header.Scenario, Lock: h.Header.Lock, World: h.Header.World, Seed: h.Header.Seed, Verdicts: judged.Verdicts}
	last := h.Events[len(h.Events)-1] // every history that was judged has its end
	if last.End.CutOff {
		v.CutOffAt = new(float64(last.Time) / float64(time.Millisecond))
	}
	return v
}

func (h *CheckedHistory) title() string {
	title := fmt.Sprintf("%s: %s with %s, seed %d, %s world", h.Name, h.Scenario, h.Lock, h.Seed, h.World)
	if h.CutOffAt != nil {
		title += fmt.Sprintf(", cut off at %.3f s", *h.CutOffAt/1000)
	}
	return title
}

// each calls row for every property, in the order of reports.
func (h *CheckedHistory) each(row func(property, verdict, reason string)) {
	for _, p := range checker.Properties() {
		row(string(p.Name), verdictWords(h.Verdicts, p.Name, "not claimed"), h.Verdicts[p.Name].Reason)
	}
}

// Text prints one table for each history. It does not repeat a reason in the next row.
func (d Checked) Text(w io.Writer) error {
	for i := range d.Histories {
		h := &d.Histories[i]
		fmt.Fprintln(w, h.title())
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		last := ""
		h.each(func(property, verdict, reason string) {
			if reason == "" && verdict == "not claimed" {
				fmt.Fprintf(t, "  %s\t%s\t\n", property, verdict)
				return
			}
			same := reason != "" && reason == last
			if last = reason; same {
				reason = "the same"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\n", property, verdict, reason)
		})
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Markdown prints one GitHub table for each history.
func (d Checked) Markdown(w io.Writer) error {
	var b strings.Builder
	for i := range d.Histories {
		h := &d.Histories[i]
		fmt.Fprintf(&b, "**%s**\n\n| property | verdict | reason |\n|---|---|---|\n", reports.EscapeMarkdown(h.title()))
		h.each(func(property, verdict, reason string) {
			if strings.HasPrefix(verdict, string(checker.Violated)) {
				verdict = "**" + reports.EscapeMarkdown(verdict) + "**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", property, verdict, reports.EscapeMarkdown(reason))
		})
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PrintDisagreement shows the smallest history on which the judges disagree.
func PrintDisagreement(w io.Writer, name string, e *checker.DisagreementError) {
	fmt.Fprintf(w, "%s: the judges disagree on these operations of lock %q:\n", name, e.Lock)
	for _, line := range e.Listing {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if e.Minimal != nil {
		fmt.Fprintln(w, "the same as a history:")
		e.Minimal.Encode(w)
	}
}
