package suite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

// drawPart draws a part of a world in which a run is the same wherever it was
// played, but for what need not be.
func drawPart(t *rapid.T, dir string) Part {
	p := Part{Results: results.Results{Version: "1"}, scenarios: map[string]string{}, from: map[RunID]Dir{}}
	p.Results.Command = rapid.SampledFrom([]string{"holdfast run", "holdfast run x --seed 5", ""}).Draw(t, "command")
	for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 0, 8, rapid.ID).Draw(t, "runs") {
		r := results.Run{
			Scenario: []string{"holder-pause", "contention", "mine"}[id%3], Lock: []string{"reentrant", "own"}[id/3%2],
			World: []string{"sim", "live"}[id/6%2], Seed: uint64(id / 12), HistorySHA256: fmt.Sprint(id),
		}
		r.Stats.WallMS = rapid.Float64Range(0, 3).Draw(t, "wall")
		r.File = rapid.SampledFrom([]string{"", "a.yaml", "b.yaml"}).Draw(t, "file")
		if rapid.Bool().Draw(t, "stored") {
			r.History = HistoryPath(r.Scenario, r.Lock, r.Seed, r.User)
		}
		p.Results.Runs = append(p.Results.Runs, r)
		p.scenarios[r.Scenario], p.from[IDOf(&r)] = "source of "+r.Scenario, Dir(dir)
	}
	for range rapid.IntRange(0, 3).Draw(t, "skips") {
		p.Results.Skipped = append(p.Results.Skipped, results.Skip{
			Scenario: rapid.SampledFrom([]string{"contention", "mine"}).Draw(t, "skipped"), Lock: "own", Reason: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "why"),
		})
	}
	return p.ordered()
}

func TestJoinIsAssociativeCommutativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		join := func(a, b Part) Part {
			p, err := Join(a, b)
			must.Succeed(t, err)
			return p
		}
		same := func(law string, a, b Part) {
			x, y := fmt.Sprintf("%+v", a.Results), fmt.Sprintf("%+v", b.Results)
			if x != y || !reflect.DeepEqual(a.scenarios, b.scenarios) {
				t.Fatalf("not %s:\n%s\n%s", law, x, y)
			}
		}
		a, b, c := drawPart(t, "a"), drawPart(t, "b"), drawPart(t, "c")
		same("associative", join(join(a, b), c), join(a, join(b, c)))
		same("commutative", join(a, b), join(b, a))
		same("idempotent", join(a, a), a)
		ab := join(a, b)
		same("idempotent", join(ab, b), ab)
		for _, r := range ab.Results.Runs {
			if r.History != "" && ab.from[IDOf(&r)] == "" {
				t.Fatalf("nobody knows where the history of %s is", IDOf(&r))
			}
		}
	})
}

func TestJoinRefusesWhatDoesNotFit(t *testing.T) {
	part := func(change func(*Part)) Part {
		r := results.Run{Scenario: "contention", Lock: "setnx", World: "sim", Seed: 1, HistorySHA256: "a"}
		p := Part{Results: results.Results{Version: "1", Runs: []results.Run{r}}, scenarios: map[string]string{"contention": "x"}, from: map[RunID]Dir{IDOf(&r): "d"}}
		change(&p)
		return p
	}
	plain := part(func(*Part) {})
	for want, change := range map[string]func(*Part){
		"contention with setnx in sim, seed 1 is in d and in d, and differs: history_sha256": func(p *Part) { p.Results.Runs[0].HistorySHA256 = "b" },
		"differs: failure":            func(p *Part) { p.Results.Runs[0].Failure = "killed" },
		"version 1 and of version 2":  func(p *Part) { p.Results.Version = "2" },
		"two scenarios that are call": func(p *Part) { p.scenarios["contention"] = "y" },
	} {
		if _, err := Join(plain, part(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
