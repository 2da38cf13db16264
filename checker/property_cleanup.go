package checker

import (
	"fmt"
	"strings"
)

// judgeCleanup reads what remained at the end.
func judgeCleanup(t *trace) Verdict {
	if t.end.CutOff {
		return Verdict{Outcome: Unknown, Reason: isCutOff}
	}
	var left []string
	if n := len(t.end.Keys); n > 0 {
		left = append(left, fmt.Sprintf("%s (%s)", plural(n, "key"), strings.Join(t.end.Keys[:min(n, 3)], ", ")))
	}
	if n := t.end.Subscriptions; n > 0 {
		left = append(left, plural(n, "subscription"))
	}
	if n := t.end.Connections; n > 0 {
		left = append(left, plural(n, "connection"))
	}
	if n := len(t.end.Goroutines); n > 0 {
		first, _, _ := strings.Cut(t.end.Goroutines[0], "\n")
		left = append(left, fmt.Sprintf("%s (%s)", plural(n, "goroutine"), first))
	}
	if len(left) == 0 {
		return Verdict{Outcome: Good}
	}
	return violation(t.endTime, nil, "left behind at the end: %s", strings.Join(left, ", "))
}
