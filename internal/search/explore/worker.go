package explore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Kinds of job. A drawn run has its [Plan] as Args; an observed one is a
// run of Source. Both give an [Seen].
const (
	drawnKind    = "drawn"
	observedKind = "observed"
)

func init() {
	suite.RegisterKind(drawnKind, playDrawn)
	suite.RegisterKind(observedKind, playObserved)
}

func playObserved(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	s, p := a.Play(j, g, j.Simulate)
	if p != nil {
		a.Give(Observe(s, p.History, a.Run.Verdicts))
	}
	return a
}

// SeenIn is the result of a drawn or an observed run; nil where the worker is gone. Only
// a defect of this program makes it unreadable.
func SeenIn(a suite.Answer) *Seen {
	seen, err := suite.DecodeAs[Seen](a.Out)
	if err != nil {
		panic(err)
	}
	return seen
}

// DrawnJob is a job that draws its scenario from the seed.
func DrawnJob(id int, lock string, seed uint64, plan Plan) suite.Job {
	raw, err := json.Marshal(plan)
	if err != nil {
		panic(err) // names and numbers: cannot happen
	}
	return suite.Job{ID: id, Scenario: fmt.Sprintf("explored-%d", seed), Lock: lock, Seed: seed, Kind: drawnKind, Args: raw}
}

func playDrawn(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	began := time.Now()
	fail := func(err error) suite.Answer {
		a.Defect = err.Error()
		return a
	}
	l, s, err := DrawFor(j)
	if err != nil {
		return fail(err)
	}
	a.Run.Scenario = s.Name
	seen, missed, err := PlayObserved(&a.Run, s, l, g)
	if err != nil {
		return fail(err)
	}
	played := s
	if seen.Cause != nil && len(missed) > 0 {
		// Faults that found nothing to strike are left out, if it is still a find then. A
		// user who plays the kept scenario gets verdicts that mean something.
		less := without(s, missed)
		run := a.Run
		again, missed, err := PlayObserved(&run, less, l, g)
		if err != nil {
			return fail(err)
		}
		if again.Cause != nil && again.Cause.Key() == seen.Cause.Key() && len(missed) == 0 {
			a.Run, played = run, less
		}
	}
	if seen.Cause != nil {
		src, err := played.YAML()
		if err != nil {
			return fail(err)
		}
		seen.Source, seen.HistorySHA256 = string(src), a.Run.HistorySHA256
	}
	a.Give(seen)
	a.Run.Verdicts, a.Run.Expected, a.Run.ExpectedClass, a.Run.Because = nil, nil, nil, nil // seen has it all
	a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return a
}

// DrawFor draws the play of a job: the lock, and the scenario for it.
func DrawFor(j suite.Job) (*locks.Lock, *scenarios.Scenario, error) {
	l, err := locks.Find(j.Lock)
	if err != nil {
		return nil, nil, err
	}
	plan, err := suite.DecodeAs[Plan](j.Args)
	if err != nil {
		return nil, nil, err
	}
	s, err := draw.Scenario(l, j.Seed, plan.Vocabulary, plan.Holes)
	return l, s, err
}

// PlayObserved plays and judges a run, and says what it has shown, and which faults
// found nothing to strike.
func PlayObserved(run *results.Run, s *scenarios.Scenario, l *locks.Lock, g suite.Guard) (seen Seen, missed []history.PlannedFault, err error) {
	var p *play.Played
	g(func() { p, err = play.Simulate(s, l, run.Seed, version.Holdfast) })
	if err != nil {
		return seen, nil, err
	}
	suite.Record(run, p)
	if err := suite.Judge(run, s, l, p.Judged()); err != nil {
		return seen, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return Observe(s, p.History, run.Verdicts), p.Missed(), nil
}
