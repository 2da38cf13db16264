package locktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
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
	o, tested := r.options, r.tested
	v, err := draw.NewVocabulary(nil, nil, false)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	e := &explorer{runner: r, found: finds{}}
	plan := suite.Plan{Options: suite.Options{World: e, Seeds: 1, Users: o.users, Dir: runDir(t), Command: again(t, o.seed)}}
	for n := range o.runs {
		seed := o.seed + uint64(n)
		s, err := draw.Scenario(tested, seed, v, nil)
		if err != nil {
			t.Fatalf("a defect of holdfast: %v", err)
		}
		text, err := s.YAML()
		if err != nil {
			t.Fatalf("a defect of holdfast: %v", err)
		}
		if err := plan.Add(suite.Source{Scenario: s, Text: text}, []*locks.Lock{tested}, seed); err != nil {
			t.Fatalf("locktest: %v", err)
		}
	}
	other := 0
	for _, s := range plan.Skipped {
		if s.User == "" {
			other++
		}
	}
	_, err = plan.Play(t.Context())
	e.found.tell(t, r.dir)
	switch {
	case e.fatal != "":
		t.Fatal(e.fatal)
	case err != nil && r.dir == "":
		t.Fatalf("locktest: %v", err)
	case err != nil:
		t.Errorf("write the report: %v", err)
	case other > 0:
		t.Logf("%d of %d scenarios are not played: they need what the lock does not claim", other, o.runs)
	}
}

// tell fails a subtest for each cause.
func (all finds) tell(t *testing.T, dir suite.Dir) {
	for _, f := range all.distinct() {
		t.Run(f.Key(), func(t *testing.T) { t.Error(f.says(t, dir)) })
	}
}

// explorer is the [suite.World] of drawn scenarios.
type explorer struct {
	*runner
	found finds
	fatal string // the reason for which nothing else is played
}

// Play implements [suite.World].
func (e *explorer) Play(_ context.Context, jobs []suite.Job, dir suite.Dir) suite.Outcome {
	e.dir = dir
	for _, j := range jobs {
		if e.fatal = e.explore(j); e.fatal != "" {
			break
		}
	}
	return suite.Outcome{Runs: e.runs}
}

// explore plays one drawn scenario, and adds what went wrong to the finds. It returns the
// reason for which nothing else is to be played, or "".
func (e *explorer) explore(j suite.Job) (fatal string) {
	s, err := j.Load()
	if err != nil {
		return "a defect of holdfast: " + err.Error()
	}
	run := j.Run("sim")
	run.LockVersion, run.Test = e.version, again(e.t, j.Seed)
	// A fault that found nothing to strike was not part of the run.
	p, err := j.Once(&run, s, e.tested, func() (*play.Played, error) {
		p, err := e.once(s, j.Seed)
		if p != nil {
			p.History = p.Judged()
		}
		return p, err
	})
	if why := e.wrongly(s, p, run.Verdicts); why != "" {
		return why
	}
	switch {
	case errors.Is(err, goroutines.ErrOfClient):
		e.t.Logf("seed %d is left out: %v", j.Seed, goroutines.ErrOfClient)
		return ""
	case p == nil:
		return fmt.Sprintf("seed %d: %v\nagain: %s", j.Seed, err, run.Test)
	case err != nil:
		return fmt.Sprintf("a defect of holdfast, seed %d: %v", j.Seed, err)
	}
	if e.runs = append(e.runs, run); !run.AsExpected {
		wrong := maps.Clone(run.Verdicts)
		maps.DeleteFunc(wrong, func(p checker.Property, _ checker.Verdict) bool { return run.Matches(p) })
		e.found.add(judged{run, s, p.History}, wrong)
	}
	return ""
}

// find is a cause, and the first run that showed it.
type find struct {
	search.Cause
	count  int
	seed   uint64
	user   string
	reason string
	in     *scenarios.Scenario
}

// finds are the violations, by the key of the cause.
type finds map[string]*find

// add counts the worst of what went wrong in a run.
func (all finds) add(p judged, wrong map[checker.Property]checker.Verdict) {
	causes := search.Of(p.scenario, p.history, wrong)
	if len(causes) == 0 {
		return // an unknown verdict proves nothing
	}
	worst := causes[0]
	f := all[worst.Key()]
	if f == nil {
		reason := wrong[worst.Property].Reason + "\n" + panicked(p.history)
		if drawing := story.Diagram(p.history, &p.run, worst.Property); drawing != "" {
			reason += "\n" + drawing
		}
		f = &find{Cause: worst, seed: p.run.Seed, user: p.run.User, in: p.scenario, reason: strings.TrimRight(reason, "\n")}
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
