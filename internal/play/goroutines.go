package play

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/stacks"
)

// Goroutines returns the stack of the caller, and the sorted ones of the other goroutines
// of its bubble, without those of synctest. They lack what differs from process to process.
func Goroutines() (caller string, others []string) {
	found := stacks.All() // the caller's comes first
	own := bubbleOf(found[0])
	for _, g := range found[1:] {
		if own == "" || bubbleOf(g) != own || strings.Contains(g, synctestRuns) || strings.Contains(g, synctestWaits) {
			continue
		}
		others = append(others, stacks.Plain(g))
	}
	slices.Sort(others)
	return stacks.Plain(found[0]), others
}

// The frames of the two goroutines of synctest: the caller of the bubble, and the one that
// waits for its test.
const (
	synctestRuns  = "\ninternal/synctest.Run("
	synctestWaits = "\ntesting/synctest.testingSynctestTest("
)

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
