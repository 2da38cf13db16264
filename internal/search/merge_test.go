package search_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/internal/suite"
)

const shardCount = 3

func envelope(kind string, shard int, interrupted bool) search.Envelope {
	return search.Envelope{Header: search.NewHeader(kind, "holdfast "+kind), Shard: shard, Of: shardCount, Interrupted: interrupted}
}

// reread writes results and reads them again, as a merge of directories does.
func reread[R search.Results[R]](t must.T, k search.Kind[R], r R) R {
	t.Helper()
	doc, err := json.Marshal(r)
	must.Succeed(t, err)
	again, err := k.Decode(doc)
	must.Succeed(t, err)
	return again
}

// A world plays a part of a shard, which shows the same whenever it is played: the first
// of its runs.
type world[R any] func(t *rapid.T, shard int) R

// explorations draw what every run of every shard shows.
func explorations(t *rapid.T) world[explore.Results] {
	faults := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"crash", "delay", "pause"}), rapid.ID)
	all := make([][]explore.Seen, shardCount)
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
	return func(t *rapid.T, shard int) explore.Results {
		tally := explore.NewTally(explore.Results{Envelope: envelope("explore", shard, rapid.Bool().Draw(t, "interrupted")), Lock: "set-px", Seed: 7,
			Vocabulary: draw.Vocabulary{Faults: []string{"crash", "delay", "pause"}}})
		for i, seen := range all[shard-1][:rapid.IntRange(0, len(all[shard-1])).Draw(t, "of its runs")] {
			tally.Add(7+uint64(shard-1)+uint64(i)*shardCount, seen)
			tally.Ops += i
		}
		r := tally.Finish()
		r.WallMS = float64(rapid.IntRange(0, 9).Draw(t, "wall"))
		for i := range r.Causes {
			if c := &r.Causes[i]; c.Under == "" && rapid.Bool().Draw(t, "kept") {
				c.Scenario = "finds/" + c.Key + ".yaml"
			}
		}
		return r
	}
}

// placements draw what every placement of every shard shows.
func placements(t *rapid.T) world[exhaustive.Results] {
	all := make([][]int, shardCount)
	for i := range all {
		all[i] = rapid.SliceOfN(rapid.IntRange(0, 3), 1, 8).Draw(t, "placements")
	}
	return func(t *rapid.T, shard int) exhaustive.Results {
		r := exhaustive.Results{Envelope: envelope("exhaustive", shard, rapid.Bool().Draw(t, "interrupted")), Lock: "set-px", Depth: 1,
			Bases: []exhaustive.BaseCounts{{Name: "one-hold"}}, Violated: []exhaustive.Cause{}, Unknown: map[string]int{}}
		r.Done = rapid.IntRange(0, len(all[shard-1])).Draw(t, "of its placements")
		for i, shown := range all[shard-1][:r.Done] {
			runs := &r.Bases[0].Runs
			runs.Played++
			switch n := i*shardCount + shard; shown {
			case 0:
				runs.Unknown++
				r.Unknown["a budget"]++
			case 1, 2:
				runs.Violated++
				faults := []string{"crash", "pause"}[:shown]
				k := slices.IndexFunc(r.Violated, func(c exhaustive.Cause) bool { return len(c.Faults) == shown })
				if k < 0 {
					k = len(r.Violated)
					r.Violated = append(r.Violated, exhaustive.Cause{Find: search.Find{Cause: search.Cause{Property: checker.Exclusion, Faults: faults}}, First: fmt.Sprintf("one-hold-%d", n), N: n, Source: "a scenario"})
				}
				r.Violated[k].Count++
			}
		}
		return r
	}
}

// sweeps draw how many runs overlap at each point in every shard.
func sweeps(t *rapid.T) world[*sweep.Result] {
	source, err := sweep.Source("pause-at-random")
	must.Succeed(t, err)
	overlaps := rapid.SliceOfN(rapid.IntRange(0, 10), 2*shardCount, 2*shardCount).Draw(t, "overlaps")
	return func(t *rapid.T, shard int) *sweep.Result {
		r := &sweep.Result{Envelope: envelope("sweep", shard, rapid.Bool().Draw(t, "interrupted")), Scenario: "pause-at-random", Source: string(source),
			Lock: "reentrant", Over: []string{"pause=5s,8s"}, Seed: 1, Seeds: 10 * shardCount}
		for point := range 2 {
			runs := 10
			if r.Interrupted {
				runs = rapid.IntRange(0, 10).Draw(t, "runs")
			}
			r.Counts = append(r.Counts, sweep.Count{Runs: runs, Overlaps: min(runs, overlaps[2*(shard-1)+point])})
		}
		return r
	}
}

// A user with many machines joins their results in any order, and as often as needed. The
// result must be the same, written and read again in between.
func TestMergeIsAssociativeCommutativeAndIdempotent(t *testing.T) {
	t.Run("explore", func(t *testing.T) { laws(t, explore.Kind, explorations) })
	t.Run("exhaustive", func(t *testing.T) { laws(t, exhaustive.Kind, placements) })
	t.Run("sweep", func(t *testing.T) { laws(t, sweep.Kind, sweeps) })
}

func laws[R search.Results[R]](t *testing.T, k search.Kind[R], worlds func(*rapid.T) world[R]) {
	rapid.Check(t, func(t *rapid.T) {
		play := worlds(t)
		join := func(all ...R) R {
			m, err := search.Merge(all...)
			must.Succeed(t, err)
			return reread(t, k, m)
		}
		some := func() R {
			var parts []R
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				parts = append(parts, reread(t, k, play(t, rapid.IntRange(1, shardCount).Draw(t, "shard"))))
			}
			return join(parts...)
		}
		same := func(law string, a, b R) {
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
		same("idempotent", join(join(a, b), join(b, c)), abc)

		// nothing is lost and nothing doubled: every shard counts once, as far as it was played
		played, missing := 0, []int{}
		for _, s := range abc.Parts() {
			played += s.Played()
		}
		for n := 1; n <= shardCount; n++ {
			if !slices.ContainsFunc(abc.Parts(), func(s R) bool { return s.Common().Shard == n && s.Whole() }) {
				missing = append(missing, n)
			}
		}
		if abc.Played() != played || !slices.Equal(abc.Common().Missing, missing) && len(missing) > 0 {
			t.Fatalf("%d played of %d, missing %v instead of %v", abc.Played(), played, abc.Common().Missing, missing)
		}
	})
}

// shard is a shard of a placement with so many runs, of them violated.
func shard(number, runs, violated int) exhaustive.Results {
	return exhaustive.Results{Envelope: envelope("exhaustive", number, false), Lock: "set-px", Depth: 1, Done: runs,
		Bases: []exhaustive.BaseCounts{{Name: "one-hold", Runs: exhaustive.Runs{Played: runs, Violated: violated}}}}
}

// Results of different searches, or two plays of a shard that contradict each other, must
// not become one result. The error must name the difference.
func TestMergeRefusesWhatDoesNotFit(t *testing.T) {
	plain := shard(1, 4, 1)
	with := func(change func(*exhaustive.Results)) exhaustive.Results {
		r := shard(1, 4, 1)
		change(&r)
		return r
	}
	for want, other := range map[string]exhaustive.Results{
		"different searches: the lock is set-px in one and set-nx in the other": with(func(r *exhaustive.Results) { r.Lock = "set-nx" }),
		"the number of shards is 3 in one and 5 in the other":                   with(func(r *exhaustive.Results) { r.Of = 5 }),
		"in one and 2 in the other":                                             with(func(r *exhaustive.Results) { r.Version = "2" }),
		"the vocabulary of one is not that of the other":                        with(func(r *exhaustive.Results) { r.Faults = []string{"a\nb"} }),
		"shard 1 is there twice, and not the same: violated differs":            shard(1, 4, 2),
		"violated differs, after 4 and 6 runs":                                  shard(1, 6, 0),
	} {
		if _, err := search.Merge(plain, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := search.Merge(other, plain); err == nil {
			t.Errorf("merged the other way round, instead of: %s", want)
		}
	}
	if m, err := search.Merge(plain, shard(1, 6, 2)); err != nil || m.Played() != 6 {
		t.Errorf("a shard that was played again and further: %d runs, %v", m.Played(), err)
	}
}

// A file that the search did not write, or that another version wrote, must be refused with
// the reason.
func TestWhatIsNoDocumentIsNotRead(t *testing.T) {
	doc := func(r exhaustive.Results) string {
		raw, err := json.Marshal(r)
		must.Succeed(t, err)
		return string(raw)
	}
	alone, twice, negative := shard(4, 1, 0), shard(0, 1, 0), shard(1, -7, 0)
	twice.Shards = []exhaustive.Results{shard(1, 1, 0), shard(1, 1, 0)}
	for text, want := range map[string]string{
		"{}":   `its schema is "" of kind "", not "holdfast-search/1" of kind "exhaustive"` + "\nhint: this version reads only its own format",
		"":     "it is damaged: it is no JSON document",
		`{"ru`: "it is damaged: it is no JSON document",
		strings.Replace(doc(alone), "exhaustive", "sweep", 1): `of kind "sweep", not`,
		doc(alone):    "there is no shard 4 of 3",
		doc(twice):    "not shards of one search",
		doc(negative): `the number "done: -7" is below 0`,
	} {
		if _, err := exhaustive.Kind.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	if _, err := exhaustive.Kind.Decode([]byte("{")); !errors.Is(err, search.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// Merged directories keep the files of the finds, and nothing of the user's is replaced.
func TestMergedDirectoriesKeepTheFinds(t *testing.T) {
	k, home := exhaustive.Kind, t.TempDir()
	var dirs []string
	for n := 1; n <= 2; n++ {
		r := shard(n, 4, 1)
		r.Violated = []exhaustive.Cause{{Find: search.Find{Cause: search.Cause{Property: checker.Exclusion, Class: fmt.Sprint(n)}, Count: 1}, First: fmt.Sprintf("one-hold-%d", n), N: n, Source: "a scenario"}}
		dir := filepath.Join(home, fmt.Sprint(n))
		out, err := disk.Open(dir, k.Directory())
		must.Succeed(t, err)
		must.Succeed(t, k.Put(out, suite.Dir(dir), r))
		dirs = append(dirs, dir)
	}
	m, err := k.MergeDirs(dirs)
	must.Succeed(t, err)
	all := filepath.Join(home, "all")
	out, err := disk.Open(all, k.Directory())
	must.Succeed(t, err)
	must.Succeed(t, k.Store(out, suite.Dir(all), m))
	again, err := k.Read(all)
	must.Succeed(t, err)
	for _, c := range again.Violated {
		if text, err := os.ReadFile(filepath.Join(all, filepath.FromSlash(c.File))); err != nil || string(text) != "a scenario" {
			t.Errorf("%s: %q, %v", c.First, text, err)
		}
	}
	if got := again.Lacks(); len(again.Violated) != 2 || got != "Of 3 shards these are missing or not complete: 3." {
		t.Errorf("%d causes, %q", len(again.Violated), got)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(all, k.Index()), []byte(`{"schema": "mine"}`), 0o644))
	if _, err := disk.Open(all, k.Directory()); !errors.Is(err, disk.ErrForeign) {
		t.Errorf("a document of somebody else may be replaced: %v", err)
	}
}
