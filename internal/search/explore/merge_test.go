package explore_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

// Two shards may have seen the same cause. The merged results then name the files of the
// lowest seed, or of the only one that has some.
func TestMergedFindsHaveTheirFiles(t *testing.T) {
	pause := search.Cause{Property: checker.Exclusion, Faults: []string{"pause"}}
	shard := func(i int, file string) explore.Results {
		tally := explore.NewTally(explore.Results{Envelope: search.Envelope{Shard: i, Of: 3}})
		tally.Add(uint64(i), explore.Seen{Cause: &pause})
		r := tally.Finish()
		r.Causes[0].Scenario = file
		return r
	}
	m, err := search.Merge(shard(3, "finds/third.yaml"), shard(2, "finds/second.yaml"), shard(1, ""))
	must.Succeed(t, err)
	if c := m.Causes[0]; len(m.Causes) != 1 || c.Count != 3 || c.FirstSeed != 2 || c.Scenario != "finds/second.yaml" {
		t.Errorf("%+v", m.Causes)
	}
}

// The key of a cause is the name of its files, and must not lead out of the directory.
func TestAKeyIsTheNameOfAFile(t *testing.T) {
	for cause, want := range map[string]string{
		`{"key":"../../x","property":"exclusion","faults":["../../x"]}`:           `"../../x" is not the key`,
		`{"key":"exclusion_../../x","property":"exclusion","faults":["../../x"]}`: `is not the key`,
	} {
		doc := `{"schema":"holdfast-search/1","kind":"explore","shard":1,"of":1,"causes":[` + cause + `]}`
		if _, err := explore.Kind.Decode([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}
