package explore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
)

// shards is a world in which every shard shows the same whenever it is played.
type shards [][]explore.Seen

const shardCount = 3

func drawShards(t *rapid.T) shards {
	faults := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"crash", "delay", "pause"}), rapid.ID)
	all := make(shards, shardCount)
	for shard := range all {
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			seen := explore.Seen{Struck: faults.Draw(t, "struck")}
			for _, f := range seen.Struck {
				seen.Coverage = append(seen.Coverage, draw.Count{Cell: draw.Cell{Fault: f, Phase: draw.Phases[0]}, Hits: 1})
			}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				c := search.Cause{Property: checker.Exclusion, Faults: slices.Sorted(slices.Values(seen.Struck))}
				seen.Cause, seen.HistorySHA256 = &c, fmt.Sprint(shard, len(all[shard]))
			case 1:
				seen.Unknown = rapid.SampledFrom([]string{"a budget", "a mutex"}).Draw(t, "why")
			}
			all[shard] = append(all[shard], seen)
		}
	}
	return all
}

// play is what the first runs of a shard have shown, as its explore.json says.
func (s shards) play(t *rapid.T, shard, runs int) explore.Results {
	tally := explore.NewTally(explore.Results{Version: "1", Lock: "set-px", Seed: 7, Shard: shard, Of: shardCount,
		Vocabulary: draw.Vocabulary{Faults: []string{"crash", "delay", "pause"}}})
	for i, seen := range s[shard-1][:runs] {
		tally.Add(7+uint64(shard-1)+uint64(i)*shardCount, seen)
		tally.Ops += i
	}
	r := tally.Finish()
	r.WallMS, r.Interrupted = float64(rapid.IntRange(0, 9).Draw(t, "wall")), rapid.Bool().Draw(t, "interrupted")
	for i := range r.Causes {
		if c := &r.Causes[i]; c.Under == "" && rapid.Bool().Draw(t, "kept") {
			c.Scenario = "finds/" + c.Key + ".yaml"
		}
	}
	return r
}

func read(t must.T, r any) explore.Merged {
	t.Helper()
	doc, err := json.Marshal(r)
	must.Succeed(t, err)
	m, err := explore.Read(bytes.NewReader(doc))
	must.Succeed(t, err)
	return m
}

func TestMergeIsAssociativeCommutativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawShards(t)
		join := func(a, b explore.Merged) explore.Merged {
			m, err := explore.Merge(a, b)
			must.Succeed(t, err)
			return read(t, m) // written, and read again
		}
		some := func() explore.Merged {
			var m *explore.Merged
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				shard := rapid.IntRange(1, shardCount).Draw(t, "shard")
				one := read(t, all.play(t, shard, rapid.IntRange(0, len(all[shard-1])).Draw(t, "of its runs")))
				if m != nil {
					one = join(*m, one)
				}
				m = &one
			}
			return *m
		}
		same := func(law string, a, b explore.Merged) {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if !bytes.Equal(x, y) {
				t.Fatalf("not %s:\n%s\n%s", law, x, y)
			}
		}
		a, b, c := some(), some(), some()
		abc := join(join(a, b), c)
		same("associative", abc, join(a, join(b, c)))
		same("commutative", join(a, b), join(b, a))
		same("idempotent", join(a, a), a)
		same("idempotent", join(abc, b), abc)
		same("idempotent", join(join(a, b), join(b, c)), abc)

		// nothing is lost and nothing doubled: every shard counts once, as far as it was played
		runs := 0
		for _, s := range abc.Shards {
			runs += s.Runs
		}
		counts := 0
		for _, f := range abc.Causes {
			counts += f.Count
		}
		if runs != abc.Runs || counts != abc.Violated {
			t.Fatalf("%d of %d runs, %d of %d violations", abc.Runs, runs, counts, abc.Violated)
		}
	})
}

func TestMergeRefusesWhatDoesNotFit(t *testing.T) {
	pause := search.Cause{Property: checker.Exclusion, Faults: []string{"pause"}}
	crash := search.Cause{Property: checker.Exclusion, Faults: []string{"crash"}}
	part := func(change func(*explore.Results), causes ...search.Cause) explore.Merged {
		about := explore.Results{Version: "1", Lock: "set-px", Seed: 7, Shard: 1, Of: 2, Budget: 10, Vocabulary: draw.Vocabulary{Faults: []string{"crash", "pause"}}}
		if change != nil {
			change(&about)
		}
		tally := explore.NewTally(about)
		for i, c := range causes {
			tally.Add(uint64(7+2*i), explore.Seen{Cause: &c, HistorySHA256: c.Key()})
		}
		return read(t, tally.Finish())
	}
	plain := part(nil, pause)
	for want, other := range map[string]explore.Merged{
		"different explorations: the lock is set-px in one and set-nx in the other": part(func(r *explore.Results) { r.Lock = "set-nx" }, pause),
		"the seed is 7 in one and 8 in the other":                                   part(func(r *explore.Results) { r.Seed = 8 }, pause),
		"the number of shards is 2 in one and 3 in the other":                       part(func(r *explore.Results) { r.Of = 3 }, pause),
		"the number of runs is 10 in one and 20 in the other":                       part(func(r *explore.Results) { r.Budget = 20 }, pause),
		"the version is 1 in one and 2 in the other":                                part(func(r *explore.Results) { r.Version = "2" }, pause),
		"the vocabulary is": part(func(r *explore.Results) { r.Vocabulary.Faults = []string{"crash"} }, pause),
		"shard 1 is there twice, and not the same: causes differs":              part(nil, crash),
		"and not the same: commands differs":                                    part(func(r *explore.Results) { r.Commands = 3 }, pause),
		"and not the same: 1 runs have shown more than 2 runs: exclusion_pause": part(nil, crash, pause),
	} {
		if _, err := explore.Merge(plain, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := explore.Merge(other, plain); err == nil {
			t.Errorf("merged the other way round, instead of: %s", want)
		}
	}
}

// Of a cause that two shards have seen the merged results name the files of the
// lowest seed, or of the only one that has some.
func TestMergedFindsHaveTheirFiles(t *testing.T) {
	pause := search.Cause{Property: checker.Exclusion, Faults: []string{"pause"}}
	shard := func(i int, file string) explore.Merged {
		tally := explore.NewTally(explore.Results{Shard: i, Of: 3})
		tally.Add(uint64(i), explore.Seen{Cause: &pause})
		r := tally.Finish()
		r.Causes[0].Scenario = file
		return read(t, r)
	}
	m := shard(3, "finds/third.yaml")
	for _, other := range []explore.Merged{shard(2, "finds/second.yaml"), shard(1, "")} {
		var err error
		if m, err = explore.Merge(m, other); err != nil {
			t.Fatal(err)
		}
	}
	if c := m.Causes[0]; len(m.Causes) != 1 || c.Count != 3 || c.FirstSeed != 2 || c.Scenario != "finds/second.yaml" {
		t.Errorf("%+v", m.Causes)
	}
}

func TestWhatIsNoExplorationIsNotRead(t *testing.T) {
	for doc, want := range map[string]string{
		"{}":   `its schema is "", not holdfast-explore/1`,
		"":     "read exploration: EOF",
		`{"ru`: "read exploration: unexpected end of JSON input",
		`{"schema":"holdfast-explore/1","shard":3,"of":2}`:                                                                                             "shard 3 of 2 is none",
		`{"schema":"holdfast-explore/1","shard":1,"of":1,"causes":[{"key":"../../x","property":"exclusion","faults":["../../x"]}]}`:                    `"../../x" is not the key`,
		`{"schema":"holdfast-explore/1","shard":1,"of":1,"causes":[{"key":"exclusion_../../x","property":"exclusion","faults":["../../x"]}]}`:          `is not the key`,
		`{"schema":"holdfast-explore/1","shards":[{"schema":"holdfast-explore/1","shard":1,"of":2},{"schema":"holdfast-explore/1","shard":1,"of":2}]}`: "not shards of one exploration",
	} {
		if _, err := explore.Read(strings.NewReader(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}
