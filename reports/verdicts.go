package reports

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/linear"
	"github.com/holdfast-go/holdfast/history"
)

// Verdicts prints what was judged of a history that is called name.
func Verdicts(w io.Writer, name string, h *history.History, judged checker.Report) error {
	fmt.Fprintf(w, "%s: %s with %s, seed %d, %s world%s\n", name, h.Header.Scenario, h.Header.Lock, h.Header.Seed, h.Header.World, whereCutOff(h))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range checker.Properties() {
		v, ok := judged.Verdicts[p.Name]
		if !ok {
			fmt.Fprintf(t, "  %s\tnot claimed\t\n", p.Name)
			continue
		}
		words := string(v.Outcome)
		if v.Class != "" {
			words += " (" + v.Class + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", p.Name, words, v.Reason)
	}
	return t.Flush()
}

// whereCutOff says in words that a history was cut off.
func whereCutOff(h *history.History) string {
	last := h.Events[len(h.Events)-1] // every history that was judged has its end
	if !last.End.CutOff {
		return ""
	}
	return fmt.Sprintf(", cut off at %.3f s", float64(last.Time)/float64(time.Second))
}

// Disagreement shows the smallest history on which the judges disagree.
func Disagreement(w io.Writer, name string, e *linear.DisagreementError) {
	fmt.Fprintf(w, "%s: the judges disagree on these operations of lock %q:\n", name, e.Lock)
	for _, line := range e.Listing {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if e.Minimal != nil {
		fmt.Fprintln(w, "the same as a history:")
		history.Encode(w, e.Minimal)
	}
}
