package checker

import (
	"fmt"
	"strings"
)

// arrivalSlack is how far apart two invocations must be for the servers to be
// sure to have seen them in that order.
const arrivalSlack = 50 * millisecond

// judgeFairness checks that an acquire is not granted before one that was
// already waiting when it came. Waiters whose client a fault touched may have
// lost their place.
func judgeFairness(t *trace) Verdict {
	v := Verdict{Outcome: Good}
	for _, b := range t.ops {
		if b.f != Acquire || b.kind != OK {
			continue
		}
		for _, a := range t.ops {
			if a.inv+arrivalSlack >= b.inv {
				break
			}
			if a.f != Acquire || a.kind != OK || a.lock != b.lock || a.owner == b.owner || a.ret <= b.ret || b.res.Count > 1 {
				continue
			}
			if t.overlap(a.inv, b.ret, second, func(f *faultSpan) bool { return f.touchesClient(a.client) }) > 0 {
				continue
			}
			v = earlier(v, violation(b.ret, opIDs(a, b), "%s was granted the lock at %s before %s, which had waited since %s, longer than it",
				b.owner, at(b.ret), a.owner, at(a.inv)))
		}
	}
	return v
}

// judgeCleanup reads what remained at the end.
func judgeCleanup(t *trace) Verdict {
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
