package verdicts

import (
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
)

// Disagreement shows the smallest history on which the judges disagree.
func Disagreement(w io.Writer, name string, e *checker.DisagreementError) {
	fmt.Fprintf(w, "%s: the judges disagree on these operations of lock %q:\n", name, e.Lock)
	for _, line := range e.Listing {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if e.Minimal != nil {
		fmt.Fprintln(w, "the same as a history:")
		history.Encode(w, e.Minimal)
	}
}
