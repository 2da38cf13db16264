package scenarios

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// goroutines returns the stacks of all goroutines of this bubble, by the
// heading's number.
func goroutines() map[string]string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	stacks := strings.Split(strings.TrimRight(string(buf), "\n"), "\n\n")
	own := bubbleOf(stacks[0]) // the caller's comes first
	all := map[string]string{}
	for _, g := range stacks {
		if own != "" && bubbleOf(g) == own {
			number, _, _ := strings.Cut(strings.TrimPrefix(g, "goroutine "), " ")
			all[number] = g
		}
	}
	return all
}

// leftover lists the goroutines of this bubble that were not there before:
// those that should have ended.
func leftover(before map[string]string) []string {
	var left []string
	for number, stack := range goroutines() {
		if _, ok := before[number]; !ok {
			left = append(left, plain(stack))
		}
	}
	slices.Sort(left) // their numbers differ from process to process
	return left
}

// plain is a stack without numbers and addresses, which differ from process to
// process: what the goroutine waits for, and its functions with their lines.
func plain(stack string) string {
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

// bubbleOf reads the bubble from a goroutine's heading, such as
// "goroutine 7 [select, synctest bubble 6]:".
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, id, ok := strings.Cut(head, "synctest bubble ")
	if !ok {
		return ""
	}
	return strings.TrimRight(id, "]:")
}
