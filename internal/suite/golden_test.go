package suite_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

var update = flag.Bool("update", false, "write the golden files anew; a commit that does so says why")

// Beside the catalogue, so many drawn scenarios are played. The first locks take turns
// with them. One that came later has seeds of its own, and so changes no other.
const (
	explored      = 500
	takeTurns     = 12
	exploredLater = 40 // of each later lock
)

// A short test plays one run of so many. No lock and no scenario is always at the same
// place of them.
const short = 7

// golden has a line for each run.
type golden struct {
	every    int // which runs are played: one of so many
	seen     int
	events   bytes.Buffer // the hash of a history's events
	headers  bytes.Buffer // the header of a catalogue history
	verdicts bytes.Buffer // each verdict, and whether it is as expected
}

// add plays a scenario, judges the history and notes both, where it is the run's turn.
func (g *golden) add(t *testing.T, s *scenarios.Scenario, l *locks.Lock, seed uint64, catalogue bool) {
	t.Helper()
	g.seen++
	if g.seen%g.every != 0 {
		return
	}
	id := fmt.Sprintf("%s %s %d", s.Name, l.Name(), seed)
	p, err := play.Simulate(s, l, seed, "golden")
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	var text bytes.Buffer
	if err := p.History.Encode(&text); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	header, events, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	fmt.Fprintf(&g.events, "%s %x\n", id, sha256.Sum256(events))
	if catalogue {
		fmt.Fprintf(&g.headers, "%s\n", header)
	}
	judged := p.History
	if !catalogue {
		judged = p.Judged()
	}
	run := results.Run{Scenario: s.Name, Lock: l.Name(), World: "sim", Seed: seed}
	if err := suite.Judge(&run, s, l, judged); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	fmt.Fprintf(&g.verdicts, "%s as expected: %t\n", id, run.AsExpected)
	for property, e := range s.Expected(l) {
		if v := run.Verdicts[property]; catalogue && v.Outcome == checker.Violated && v.Faulty() != e.Defect {
			t.Errorf("%s: the scenario and the table of expectations differ about %s: the scenario argues defect: %t, the table says %q (%s)",
				id, property, e.Defect, v.Inherent, v.Reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(run.Verdicts)) {
		v, err := json.Marshal(run.Verdicts[name])
		must.Succeed(t, err)
		if string(v) != `{"verdict":"ok"}` {
			fmt.Fprintf(&g.verdicts, "  %s %s\n", name, v)
		}
	}
}

// TestGolden plays the whole catalogue and explored scenarios, and compares
// what comes of them with the golden files. A difference means that the
// simulator, a lock, the workload or a judge behaves differently than before.
func TestGolden(t *testing.T) {
	logging.Disable()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as a worker process has it; with more, more seeds are unsteady
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	g := golden{every: 1}
	if testing.Short() && !*update {
		g.every = short
	}
	for _, s := range scenarios.Catalogue() {
		for _, name := range locks.Names() {
			l, err := locks.Find(name)
			must.Succeed(t, err)
			if ok, _ := s.Applies(l); ok {
				g.add(t, s, l, 1, true)
			}
		}
	}
	v, err := draw.NewVocabulary(nil, nil, false)
	must.Succeed(t, err)
	names := locks.Names()
	play := func(lock string, seed uint64) {
		l, err := locks.Find(lock)
		must.Succeed(t, err)
		s, err := draw.Scenario(l, seed, v, nil)
		must.Succeed(t, err)
		g.add(t, s, l, seed, false)
	}
	for seed := range uint64(explored) {
		play(names[seed%takeTurns], seed)
	}
	for i, lock := range names[takeTurns:] {
		for n := range exploredLater {
			play(lock, uint64(explored+i*exploredLater+n))
		}
	}
	compare(t, "events.txt", g.events.String(), g.every)
	compare(t, "headers.jsonl", g.headers.String(), g.every)
	compare(t, "verdicts.txt", g.verdicts.String(), g.every)
}

// oneOf returns each n-th run of a golden file. Indented lines belong to the run above.
func oneOf(n int, file string) string {
	var some strings.Builder
	run := 0
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "  ") {
			run++
		}
		if run%n == 0 {
			some.WriteString(line)
		}
	}
	return some.String()
}

// compare compares the played runs of a golden file, one of so many, line by line.
func compare(t *testing.T, name, got string, every int) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	raw, err := os.ReadFile(path)
	must.Succeed(t, err)
	want := oneOf(every, string(raw))
	if got == want {
		return
	}
	was, is := strings.Split(want, "\n"), strings.Split(got, "\n")
	shown := 0
	for i := range max(len(was), len(is)) {
		var w, g string
		if i < len(was) {
			w = was[i]
		}
		if i < len(is) {
			g = is[i]
		}
		if w == g {
			continue
		}
		if shown++; shown > 10 {
			t.Errorf("%s: more lines differ", name)
			return
		}
		t.Errorf("%s:%d\n was %s\n  is %s", name, i+1, w, g)
	}
}
