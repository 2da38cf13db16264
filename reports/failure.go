package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/results"
)

// maxTail is how many lines that follow a failure's reason are shown: a stack,
// or the end of a server's log, of which the end says most.
const maxTail = 20

// failed is why the run could not be judged: the first line of Failure is the
// reason (or the first two, where that ends in a colon), the others, a stack or the end of a server's log, explain it.
func failureOf(r *results.Run) (reason string, tail []string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(r.Failure), "\n")
	if strings.HasSuffix(strings.TrimSpace(first), ":") { // it only announces the reason
		next, more, _ := strings.Cut(rest, "\n")
		first, rest = strings.TrimSpace(first)+" "+strings.TrimSpace(next), more
	}
	if rest = cleanLines(strings.ReplaceAll(rest, "\t", "    ")); rest == "" {
		return clean(first), nil
	}
	tail = strings.Split(rest, "\n")
	if n := len(tail) - maxTail; n > 0 {
		var head []string
		if strings.HasSuffix(tail[0], ":") { // says what the lines are
			head = tail[:1:1]
		}
		tail = append(append(head, fmt.Sprintf("(%s left out)", english.Count(n-len(head), "line"))), tail[n:]...)
	}
	for i := range tail {
		tail[i] = strings.TrimRight(short(tail[i], maxLine), " ")
	}
	return clean(first), tail
}
