package pages

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/scenarios"
)

// A reader sees each find as a diagram: the smallest run open, the first one folded.
// A run that never ended has no diagram, and must not be played to draw one.
func TestFindsHaveDiagrams(t *testing.T) {
	source, err := scenarios.Source("holder-pause")
	must.Succeed(t, err)
	src := string(source)
	r := Placement{Results: exhaustive.Results{Lock: "set-px", Bases: []exhaustive.BaseCounts{{Name: "one-holder"}}, Violated: []exhaustive.Cause{
		{Find: search.Find{Cause: search.Cause{Property: checker.Exclusion, Class: "overlap", Faults: []string{"pause"}}, Count: 3, Shrunk: &search.Shrunk{Source: src}}, First: "one", Source: src},
		{Find: search.Find{Cause: search.Cause{Property: checker.Errors, Class: "late", Faults: []string{"pause"}}, Count: 2}, First: "two", Source: src},
		{Find: search.Find{Cause: search.Cause{Property: checker.Progress, Class: search.NeverEnded, Faults: []string{"crash"}}, Count: 1}, First: "three", Source: src},
	}}}
	var b bytes.Buffer
	must.Succeed(t, r.HTML(&b))
	_, finds, _ := strings.Cut(b.String(), `<section id="finds">`)
	all := strings.Split(finds, "<article")[1:]
	if len(all) != 3 {
		t.Fatalf("%d finds", len(all))
	}
	for i, want := range []struct{ open, folded int }{{1, 1}, {1, 0}, {0, 0}} {
		if got := strings.Count(all[i], "<h4>The "); got != want.open {
			t.Errorf("find %d: %d open diagrams, want %d", i, got, want.open)
		}
		if got := strings.Count(all[i], `<svg class="timeline"`); got != want.open+want.folded {
			t.Errorf("find %d: %d diagrams, want %d", i, got, want.open+want.folded)
		}
		if told := strings.Contains(all[i], `<ol class="told">`); told != (want.open > 0) {
			t.Errorf("find %d: told %v", i, told)
		}
	}
}

// One shard of several is a part of all placements, and must not claim to be all.
func TestAShardIsNotAll(t *testing.T) {
	for _, c := range []struct {
		shard, of int
		want      string
	}{{0, 0, "This is no sample: every single fault"}, {1, 1, "This is no sample: every single fault"}, {2, 16, "This is shard 2 of 16. All shards together"}} {
		r := Placement{Results: exhaustive.Results{Envelope: search.Envelope{Shard: c.shard, Of: c.of}, Lock: "set-px"}}
		if got := r.page().Bound[0]; !strings.HasPrefix(got, c.want) {
			t.Errorf("shard %d of %d: %s", c.shard, c.of, got)
		}
	}
}
