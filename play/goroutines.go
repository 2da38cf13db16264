package play

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/stacks"
)

// Goroutines returns the stacks of all goroutines of this bubble, by the number in
// their heading.
func Goroutines() map[string]string {
	found := stacks.All()
	own := bubbleOf(found[0]) // the caller's comes first
	all := map[string]string{}
	for _, g := range found {
		if own != "" && bubbleOf(g) == own {
			all[stacks.Number(g)] = g
		}
	}
	return all
}

// GoroutinesSince lists the sorted stacks of the goroutines of this bubble that did not
// exist before.
func GoroutinesSince(before map[string]string) []string {
	var left []string
	for number, stack := range Goroutines() {
		if _, ok := before[number]; !ok {
			left = append(left, stacks.Plain(stack))
		}
	}
	slices.Sort(left) // their numbers differ from process to process
	return left
}

// bubbleOf reads the bubble from a goroutine's heading, such as "goroutine 7
// [select, synctest bubble 6]:".
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, id, ok := strings.Cut(head, "synctest bubble ")
	if !ok {
		return ""
	}
	return strings.TrimRight(id, "]:")
}
