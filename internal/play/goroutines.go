package play

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/goroutines"
)

// Goroutines returns the stack of the caller, and the sorted ones of the other goroutines
// of its bubble, without those of synctest. They lack what differs from process to process.
func Goroutines() (caller string, others []string) {
	found := goroutines.All() // the caller comes first
	own := found[0].Bubble
	for _, g := range found[1:] {
		if own == 0 || g.Bubble != own || strings.Contains(g.Stack, synctestRuns) || strings.Contains(g.Stack, synctestWaits) {
			continue
		}
		others = append(others, g.Plain())
	}
	slices.Sort(others)
	return found[0].Plain(), others
}

// The frames of the two goroutines of synctest: the caller of the bubble, and the one that
// waits for its test.
const (
	synctestRuns  = "\ninternal/synctest.Run("
	synctestWaits = "\ntesting/synctest.testingSynctestTest("
)
