package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// maxTail is the number of lines that a report shows after the reason of a failure: a
// stack, or the end of a server's log.
const maxTail = 20

// failureOf is the failure of a run for a reader: the reason, and the last of the lines
// that explain it.
func failureOf(r *results.Run) (reason string, tail []string) {
	first, rest := r.SplitFailure()
	if rest = cleanLines(strings.ReplaceAll(rest, "\t", "    ")); rest == "" {
		return english.Clean(first), nil
	}
	tail = strings.Split(rest, "\n")
	if n := len(tail) - maxTail; n > 0 {
		var head []string
		if strings.HasSuffix(tail[0], ":") { // it describes the lines
			head = tail[:1:1]
		}
		tail = append(append(head, fmt.Sprintf("(%s left out)", english.Count(n-len(head), "line"))), tail[n:]...)
	}
	for i := range tail {
		tail[i] = strings.TrimRight(english.Short(tail[i], story.MaxLine), " ")
	}
	return english.Clean(first), tail
}
