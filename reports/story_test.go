package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// A story has a write and a release at one instant in the order of the history.
func TestTheStoryKeepsTheOrderOfAnInstant(t *testing.T) {
	r := record("overlap", "set-px", history.Claims{Lease: true})
	r.acquire("client-1", 0, 1, 0)
	r.acquire("client-2", 1000, 1001, 0)
	write := r.call(history.Write, "client-1", 1999, 2000, history.OK, &history.Args{Value: 99, Base: 100}, &history.Result{Value: 100})
	r.release("client-1", 2000, 2001)
	r.release("client-2", 2500, 2501)
	run := results.Run{Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.Violated, Ops: []int64{write}}}}
	var order []string
	for _, s := range story.Tell(story.NewFacts(r.end(3000)), &run) {
		if s.At == ns(2000) {
			order = append(order, s.Text)
		}
	}
	if len(order) != 2 || !strings.HasPrefix(order[0], "client-1 writes") || !strings.HasPrefix(order[1], "client-1 lets go") {
		t.Errorf("at 2 s: %q", order)
	}
}
