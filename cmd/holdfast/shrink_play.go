package main

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/shrink"
	"github.com/holdfast-go/holdfast/subject/gallery"
	"github.com/holdfast-go/holdfast/suite"
)

// acquit looks whether the lock that a mutant is a variant of shows the
// violation, too.
func (p *shrinking) acquit(ctx context.Context, source []byte) error {
	m, ok := gallery.Find(p.lock)
	if !ok {
		return nil
	}
	outcomes, err := p.play(ctx, m.Of, []shrink.Candidate{{Source: source, Seed: p.seed}})
	if err != nil {
		return err
	}
	if v := outcomes[0].Verdicts; len(v) > 0 && !p.target.Met(v) {
		p.innocent = m.Of
	}
	return nil
}

// shrink searches.
func (p *shrinking) shrink(ctx context.Context) (shrink.Result, error) {
	player := func(ctx context.Context, all []shrink.Candidate) ([]shrink.Outcome, error) {
		outcomes, err := p.play(ctx, p.lock, all)
		if err == nil && p.innocent != "" {
			err = p.clear(ctx, all, outcomes)
		}
		for range all {
			p.bar.step()
		}
		return outcomes, err
	}
	return shrink.Shrink(ctx, p.scenario, p.seed, p.target, player, shrink.Options{Runs: p.flags.runs, Moved: func(_ int, now shrink.Size) error {
		p.bar.now(fmt.Sprintf("%s, %s, %s", english.Count(now.Clients, "client"), english.Count(now.Ops, "operation"), english.Count(now.Faults, "fault")))
		return nil
	}})
}

// playJob plays candidates with a lock.
func (p *shrinking) play(ctx context.Context, lock string, all []shrink.Candidate) ([]shrink.Outcome, error) {
	jobs := make([]suite.Job, len(all))
	for i, c := range all {
		jobs[i] = suite.Job{Scenario: "candidate", File: "candidate.yaml", Source: string(c.Source), Lock: lock, Seed: c.Seed, Judge: true}
	}
	answers, err := p.workers.Round(ctx, jobs)
	if err != nil {
		return nil, err
	}
	outcomes := make([]shrink.Outcome, len(all))
	for i, a := range answers {
		if a.Defect == "" && a.Run.Failure == "" {
			outcomes[i] = shrink.Outcome{Verdicts: a.Run.Verdicts, Ops: a.Run.Stats.Ops}
		}
	}
	return outcomes, nil
}

// clear takes the verdicts away from candidates in which the innocent lock
// shows the violation as well.
func (p *shrinking) clear(ctx context.Context, all []shrink.Candidate, outcomes []shrink.Outcome) error {
	others, err := p.play(ctx, p.innocent, all)
	for i, o := range others {
		if p.target.Met(o.Verdicts) {
			outcomes[i] = shrink.Outcome{}
		}
	}
	return err
}
