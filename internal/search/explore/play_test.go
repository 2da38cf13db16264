package explore_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// here plays jobs in this process. It gives the answers of so many jobs at a
// time, the last one first.
type here struct{ late int }

func (h here) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	return h.Stream(ctx, len(jobs), slices.Values(jobs), got)
}

func (h here) Stream(_ context.Context, _ int, jobs iter.Seq[suite.Job], got func(suite.Answer)) error {
	var held []suite.Answer
	flush := func() {
		for _, a := range slices.Backward(held) {
			got(a)
		}
		held = nil
	}
	for j := range jobs {
		held = append(held, suite.PlayJob(j, func(run func()) { run() }))
		if len(held) >= h.late {
			flush()
		}
	}
	flush()
	return nil
}

// The order in which answers come changes neither what is found nor after how
// many runs.
func TestResultsDoNotDependOnTheOrderOfAnswers(t *testing.T) {
	logging.Disable()
	for name, all := range map[string]bool{"all runs": true, "up to the first find": false} {
		t.Run(name, func(t *testing.T) {
			play := func(late int) explore.Results {
				x := explore.New(explore.Options{Lock: "set-px-lua", Seed: 1, Runs: 60, All: all, Shard: suite.Shard{Index: 1, Of: 1}, Vocabulary: vocabulary(t, false), Runner: here{late}})
				r, err := x.Play(t.Context(), func(string) {})
				must.Succeed(t, err)
				r.WallMS = 0
				return r
			}
			inOrder := play(1)
			if len(inOrder.Causes) == 0 || len(inOrder.Defects) > 0 || all && inOrder.Runs != 60 || !all && inOrder.Violated != 1 {
				t.Fatalf("%d runs, causes %v, defects %v", inOrder.Runs, inOrder.Causes, inOrder.Defects)
			}
			if diff := cmp.Diff(inOrder, play(7)); diff != "" {
				t.Errorf("answers in another order give another result:\n%s", diff)
			}
		})
	}
}

// The stored results of an exploration read as the returned ones, and the next
// exploration recognizes its finds.
func TestStoredResultsCanBeMerged(t *testing.T) {
	logging.Disable()
	dir := t.TempDir()
	out, err := disk.Open(dir, explore.Kind.Directory())
	must.Succeed(t, err)
	o := explore.Options{Lock: "set-px-lua", Seed: 1, Runs: 60, Shard: suite.Shard{Index: 1, Of: 1}, Vocabulary: vocabulary(t, false), Runner: here{1}}
	x := explore.New(o)
	r, err := x.Play(t.Context(), func(string) {})
	must.Succeed(t, err)
	if r, err = x.Store(t.Context(), out, suite.Dir(dir), r, func(string) {}); err != nil {
		t.Fatal(err)
	}
	merged, err := explore.Kind.MergeDirs([]string{dir, dir})
	must.Succeed(t, err)
	if diff := cmp.Diff(r.Causes, merged.Results.Causes); diff != "" || len(r.Causes) != 1 {
		t.Errorf("the directory holds other causes:\n%s", diff)
	}
	if o.Known, err = explore.ReadKnown(suite.Dir(dir).File(explore.Kind.Index())); err != nil {
		t.Fatal(err)
	}
	again, err := explore.New(o).Play(t.Context(), func(string) {})
	must.Succeed(t, err)
	if !again.Causes[slices.IndexFunc(again.Causes, func(c explore.Found) bool { return c.Key == r.Causes[0].Key })].Known || again.Runs <= r.Runs {
		t.Errorf("the known cause has ended the exploration after %d runs: %v", again.Runs, again.Causes)
	}
}
