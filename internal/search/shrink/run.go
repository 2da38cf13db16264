package shrink

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Run is a run that shows a violation, and what plays it again.
type Run struct {
	Scenario *scenarios.Scenario
	Source   []byte // the scenario's file
	Lock     string
	Seed     uint64
	Target   Target
	Runner   suite.Runner

	// baseline is the lock that a mutant is a variant of, when that lock does not show
	// the violation. A violation of both is not the mutant's mistake.
	baseline string
}

// Shrink makes the run smaller, see [Shrink].
func (r *Run) Shrink(ctx context.Context, o Options) (Result, error) {
	if err := r.findBaseline(ctx); err != nil {
		return Result{}, err
	}
	player := func(ctx context.Context, all []Candidate) ([]Outcome, error) {
		outcomes, err := r.play(ctx, r.Lock, all)
		if err == nil && r.baseline != "" {
			err = r.subtractBaseline(ctx, all, outcomes)
		}
		return outcomes, err
	}
	return Shrink(ctx, r.Scenario, r.Seed, r.Target, player, o)
}

// findBaseline looks whether the lock that a mutant is a variant of shows the
// violation, too.
func (r *Run) findBaseline(ctx context.Context) error {
	m, ok := gallery.Find(r.Lock)
	if !ok {
		return nil
	}
	outcomes, err := r.play(ctx, m.Of, []Candidate{{Source: r.Source, Seed: r.Seed}})
	if err != nil {
		return err
	}
	if v := outcomes[0].Verdicts; len(v) > 0 && !r.Target.Met(v) {
		r.baseline = m.Of
	}
	return nil
}

// subtractBaseline takes the verdicts away from candidates in which the baseline
// shows the violation as well.
func (r *Run) subtractBaseline(ctx context.Context, all []Candidate, outcomes []Outcome) error {
	others, err := r.play(ctx, r.baseline, all)
	for i, o := range others {
		if r.Target.Met(o.Verdicts) {
			outcomes[i] = Outcome{}
		}
	}
	return err
}

func (r *Run) play(ctx context.Context, lock string, all []Candidate) ([]Outcome, error) {
	jobs := make([]suite.Job, len(all))
	for i, c := range all {
		jobs[i] = suite.Job{Scenario: "candidate", File: "candidate.yaml", Source: string(c.Source), Lock: lock, Seed: c.Seed, Judge: true}
	}
	answers, err := suite.Round(ctx, r.Runner, jobs)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(all))
	for i, a := range answers {
		if a.Defect == "" && a.Run.Failure == "" {
			outcomes[i] = Outcome{Verdicts: a.Run.Verdicts, Ops: a.Run.Stats.Ops}
		}
	}
	return outcomes, nil
}
