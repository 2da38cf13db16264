// Package stacks lists the goroutines of this process, to find leaked ones.
package stacks

import (
	"path/filepath"
	"runtime"
	"strings"
)

// All returns the stacks of all goroutines as the runtime prints them. That of
// the caller comes first.
func All() []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	return strings.Split(strings.TrimRight(string(buf), "\n"), "\n\n")
}

// Number is the number of a goroutine. No other goroutine ever gets it.
func Number(stack string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
	return number
}

// Plain removes the numbers and addresses of a stack, which differ between
// processes. It leaves the reason of the wait, and the functions with their
// lines.
func Plain(stack string) string {
	lines := strings.Split(stack, "\n")
	if _, state, ok := strings.Cut(lines[0], "["); ok {
		state, _, _ = strings.Cut(state, ",")
		lines[0] = "goroutine [" + strings.TrimSuffix(state, "]:") + "]"
	}
	for i, l := range lines[1:] {
		if strings.HasPrefix(l, "\t") {
			l, _, _ = strings.Cut(l, " +0x")
			l = "\t" + filepath.Base(l)
		} else if j := strings.LastIndexByte(l, '('); j > 0 && !strings.HasPrefix(l, "created by ") {
			l = l[:j]
		} else if before, _, ok := strings.Cut(l, " in goroutine "); ok {
			l = before
		}
		lines[i+1] = l
	}
	return strings.Join(lines, "\n")
}
