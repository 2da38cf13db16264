package adapter

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/goroutines"
)

const (
	// windDown is the time that goroutines may take to end when their connections are
	// closed; nothing tells when they have.
	windDown = 2 * time.Second
	// mostStacks and mostStack keep what is left within a line.
	mostStacks = 50
	mostStack  = 8 << 10
)

func numbers() map[string]bool {
	all := map[string]bool{}
	for _, g := range goroutines.All() {
		all[g.Number] = true
	}
	return all
}

// leftover lists the goroutines that were not there before, besides the
// caller's own, once they have had time to end.
func leftover(ctx context.Context, before map[string]bool) []string {
	wait := time.NewTimer(windDown)
	defer wait.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := since(before)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-wait.C:
			return left
		case <-ctx.Done():
			return left
		}
	}
}

func since(before map[string]bool) []string {
	var left []string
	for _, g := range goroutines.All()[1:] { // the first is this one
		if before[g.Number] {
			continue
		}
		s := g.Plain()
		left = append(left, s[:min(len(s), mostStack)])
	}
	slices.Sort(left)
	return left[:min(len(left), mostStacks)]
}
