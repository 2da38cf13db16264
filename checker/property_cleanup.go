package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Cleanup: At the end no key, subscription, connection or goroutine remains.
const Cleanup Property = "cleanup"

var cleanupProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Cleanup, Promise: "At the end no key, subscription, connection or goroutine remains.",
		Broken: "something is left behind",
	},
	harm:  always(wrongAnswer),
	judge: plainly(func(t *trace) Verdict { return cleanupJudge{t}.judge() }),
}

type cleanupJudge struct{ *trace }

// judge finds what the run left behind.
func (j cleanupJudge) judge() Verdict {
	if j.end.CutOff {
		return Verdict{Outcome: Unknown, Reason: isCutOff}
	}
	var left []string
	if n := len(j.end.Keys); n > 0 {
		left = append(left, fmt.Sprintf("%s (%s)", english.Count(n, "key"), strings.Join(j.end.Keys[:min(n, 3)], ", ")))
	}
	if n := j.end.Subscriptions; n > 0 {
		left = append(left, english.Count(n, "subscription"))
	}
	if n := j.end.Connections; n > 0 && !j.claims.KeepsConnections {
		left = append(left, english.Count(n, "connection"))
	}
	if n := len(j.end.Goroutines); n > 0 {
		left = append(left, fmt.Sprintf("%s (%s)", english.Count(n, threadOf(j.end.Goroutines[0])), inWords(j.end.Goroutines[0])))
	}
	if len(left) == 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	v := violation(j.endTime, nil, "left behind at the end: %s", strings.Join(left, ", "))
	if len(j.end.Keys) > 0 && len(left) == 1 {
		v = inherently(v, j.whyKeysInherent())
	}
	return v
}

// javaFrame begins a line of a stack of a Java thread. The first line is the thread's
// name.
const javaFrame = "\tat "

// threadOf is the runtime's word for what has the stack.
func threadOf(stack string) string {
	if strings.Contains(stack, "\n"+javaFrame) {
		return "thread"
	}
	return "goroutine"
}

// inWords describes a stack by its first function outside of the runtime's own packages.
func inWords(stack string) string {
	lines := strings.Split(stack, "\n")
	if threadOf(stack) == "thread" {
		for _, line := range lines[1:] {
			if frame := strings.TrimPrefix(line, javaFrame); !strings.HasPrefix(frame, "java.") {
				return lines[0] + " at " + frame
			}
		}
		return lines[0]
	}
	for i := 1; i+1 < len(lines); i += 2 {
		file, isFrame := strings.CutPrefix(lines[i+1], "\t")
		if !isFrame {
			break
		}
		name, _, _ := strings.Cut(lines[i], ".")
		if !slices.Contains([]string{"runtime", "sync", "time", "context", "io", "net", "bufio", "select"}, name) && !strings.HasPrefix(name, "internal/") {
			return lines[i] + " at " + file
		}
	}
	return lines[0]
}

// whyKeysInherent returns the reason why leftover keys are inherent: a lock without a
// lease keeps the holds of its dead owners.
func (j cleanupJudge) whyKeysInherent() string {
	why := ""
	for _, lock := range j.locks {
		why = cmp.Or(why, j.whySilenceInherent(lock, j.endTime, j.endTime))
	}
	return why
}
