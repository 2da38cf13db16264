package locktest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Explore plays a lock in random scenarios that fit its claims. A subtest fails
// for each cause of a violation that the lock could have avoided. It reports the
// cause once, with the number of runs that showed it and the first of them.
//
// [Runs] sets the number of scenarios. HOLDFAST_SEED is the seed of the first run,
// and each run has its own seed, so the command of a find plays that run first. As
// with [Run], nothing runs in parallel.
func Explore(t *testing.T, l Lock, opts ...Option) {
	t.Helper()
	l.misuse = new(misuse)
	r := newRunner(t, l, opts)
	o, sub := r.options, r.subject
	v, err := draw.NewVocabulary(nil, nil, false)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.begin(t, results.Results{Version: version.Holdfast, Command: again(t, o.seed)})
	found, other := finds{}, 0
	for n := range o.runs {
		seed := o.seed + uint64(n)
		s, err := draw.Scenario(sub, seed, v, nil)
		if err != nil {
			t.Fatalf("a defect of holdfast: %v", err)
		}
		if ok, _ := s.Applies(sub); !ok {
			other++
			continue
		}
		text, err := s.YAML()
		if err != nil {
			t.Fatalf("a defect of holdfast: %v", err)
		}
		users, _ := suite.UsersOf(s, sub, o.users)
		for _, user := range users {
			r.explore(t, source{scenario: s, text: text}, user, seed, found)
		}
	}
	if other > 0 {
		t.Logf("%d of %d scenarios are not played: they need what the lock does not claim", other, o.runs)
	}
	found.tell(t, r.dir)
}

// tell fails a subtest for each cause.
func (all finds) tell(t *testing.T, dir suite.Dir) {
	for _, f := range all.distinct() {
		t.Run(f.Key(), func(t *testing.T) { t.Error(f.says(t, dir)) })
	}
}

// explore plays one drawn scenario, and adds what went wrong to found.
func (r *runner) explore(t *testing.T, s source, user string, seed uint64, found finds) {
	t.Helper()
	if err := r.keep(s); err != nil {
		t.Fatalf("keep the scenario: %v", err)
	}
	s.scenario = s.scenario.PlayedBy(user)
	run := results.Run{Scenario: s.scenario.Name, Lock: r.subject.Name(), World: "sim", Seed: seed, User: user, LockVersion: r.version, Test: again(t, seed)}
	path := suite.HistoryPath(run.Scenario, run.Lock, seed, user)
	// A fault that found nothing to strike was not part of the run.
	player := func() (*play.Played, error) {
		p, err := r.once(s, seed)
		if p != nil {
			p.History = p.Judged()
		}
		return p, err
	}
	p, err := suite.Once(&run, s.scenario, r.subject, player, suite.Keep{File: r.dir.File(path), Path: path})
	if why := r.wrongly(s, p); why != "" {
		t.Fatal(why)
	}
	switch {
	case errors.Is(err, goroutines.ErrOfClient):
		t.Logf("seed %d is left out: %v", seed, goroutines.ErrOfClient)
		return
	case p == nil:
		found.tell(t, r.dir) // nothing else is played
		t.Fatalf("seed %d: %v\nagain: %s", seed, err, again(t, seed))
	case err != nil:
		t.Fatalf("a defect of holdfast, seed %d: %v", seed, err)
	}
	if r.runs = append(r.runs, run); run.AsExpected {
		return
	}
	wrong := maps.Clone(run.Verdicts)
	maps.DeleteFunc(wrong, func(p checker.Property, _ checker.Verdict) bool { return run.Matches(p) })
	found.add(s, p.History, run, wrong)
}

// find is a cause, and the first run that showed it.
type find struct {
	search.Cause
	count  int
	seed   uint64
	user   string
	reason string
}

// finds are the violations, by the key of the cause.
type finds map[string]*find

// add counts the worst of what went wrong in a run.
func (all finds) add(s source, h *history.History, run results.Run, wrong map[checker.Property]checker.Verdict) {
	causes := search.Of(s.scenario, h, wrong)
	if len(causes) == 0 {
		return // an unknown verdict proves nothing
	}
	worst := causes[0]
	f := all[worst.Key()]
	if f == nil {
		f = &find{Cause: worst, seed: run.Seed, user: run.User, reason: strings.TrimRight(wrong[worst.Property].Reason+"\n"+panicked(h), "\n")}
		all[worst.Key()] = f
	}
	f.count++
}

// distinct are the finds with the fewest faults first. One that a simpler find
// explains is counted with that.
func (all finds) distinct() []*find {
	sorted := slices.SortedFunc(maps.Values(all), func(a, b *find) int { return a.Compare(b.Cause) })
	var some []*find
	for _, f := range sorted {
		if i := slices.IndexFunc(some, func(s *find) bool { return s.Explains(f.Cause) }); i >= 0 {
			some[i].count += f.count
			continue
		}
		some = append(some, f)
	}
	return some
}

// says tells a find, and how to see it again.
func (f *find) says(t *testing.T, dir suite.Dir) string {
	explorer, _, _ := strings.Cut(t.Name(), "/"+f.Key())
	user := ""
	if f.user != "" {
		user = " with a " + f.user + " user"
	}
	return fmt.Sprintf("%s: %s\nruns:   %d, the first is seed %d%s\nagain:  %s\nreport: holdfast report %s",
		f.Cause, f.reason, f.count, f.seed, user, command(explorer, f.seed), dir)
}
