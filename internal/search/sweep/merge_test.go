package sweep

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A sweep is the same in whatever order, and however often, its shards are
// merged, those that were interrupted included.
func TestMergeIsAssociativeCommutativeAndIdempotent(t *testing.T) {
	over := []string{"pause=5s,8s"}
	plain := made(t, 3, over)
	single := made(t, 1, over)
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SampledFrom([]*Result{plain, single}).Draw(t, "of")
		whole := make([]Part, of.Shards)
		for i := range whole {
			whole[i] = part(i+1, rapid.IntRange(0, 10).Draw(t, "first"), rapid.IntRange(0, 10).Draw(t, "second"))
		}
		drawPart := func() Part {
			p := rapid.SampledFrom(whole).Draw(t, "part")
			if !rapid.Bool().Draw(t, "interrupted") {
				return p
			}
			return Part{Shard: p.Shard, Counts: []Count{{Runs: 10, Overlaps: p.Counts[0].Overlaps}, {Runs: rapid.IntRange(0, 2).Draw(t, "runs"), Overlaps: rapid.IntRange(0, 1).Draw(t, "overlaps")}}}
		}
		merge := func(r ...*Result) *Result {
			m, err := Merge(r...)
			must.Succeed(t, err)
			return m
		}
		some := func() *Result {
			var all []*Result
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				r := *of
				r.Command = rapid.SampledFrom([]string{"holdfast sweep a", "holdfast sweep ./a"}).Draw(t, "command")
				r.take(drawPart())
				if of == single {
					r.Boundaries = []Boundary{{Without: 5, With: Value(rapid.IntRange(6, 8).Draw(t, "with"))}}[:rapid.IntRange(0, 1).Draw(t, "bounds")]
				}
				all = append(all, &r)
			}
			return merge(all...)
		}
		same := func(law string, a, b *Result) {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Fatalf("not %s:\n%s\n%s", law, x, y)
			}
		}
		a, b, c := some(), some(), some()
		all := merge(a, b, c)
		same("associative", merge(merge(a, b), c), all)
		same("associative", merge(a, merge(b, c)), all)
		same("commutative", merge(a, b), merge(b, a))
		same("idempotent", merge(a, a), a)
		same("idempotent", merge(merge(a, b), merge(b, c)), all)
	})
}
