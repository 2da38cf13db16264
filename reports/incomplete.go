package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
)

// InterruptedWords says that the results are not complete; empty when they are.
func (r Results) InterruptedWords() string {
	if !r.Interrupted {
		return ""
	}
	words := "Interrupted: the command ended before it had played all of its runs"
	if n := len(r.Pending); n > 0 {
		words += fmt.Sprintf("; %d of %s missing", n, english.Count(n+len(r.Runs), "run"))
	}
	return words + "."
}

// missingWords lists the histories that are not there; empty when all are.
func (d Document) missingWords() string {
	if len(d.Missing) == 0 {
		return ""
	}
	return clean(fmt.Sprintf("Missing: %s.", strings.Join(d.Missing, ", ")))
}
