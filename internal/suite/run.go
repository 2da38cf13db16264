package suite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Here is a [Streamer] that plays jobs in this process, one after the other. A
// lock under test that crashes or never ends takes the process with it.
type Here struct{}

// Play implements [Runner].
func (h Here) Play(ctx context.Context, jobs []Job, got func(Answer)) error {
	return h.Stream(ctx, len(jobs), slices.Values(jobs), got)
}

// Stream implements [Streamer].
func (Here) Stream(ctx context.Context, _ int, jobs iter.Seq[Job], got func(Answer)) error {
	for j := range jobs {
		if ctx.Err() != nil {
			return nil
		}
		got(PlayJob(j, func(run func()) { run() }))
	}
	return nil
}

// Options say what [Run] plays.
type Options struct {
	// Scenarios are names of built-in scenarios, and files; all built-in ones when
	// it is empty.
	Scenarios []string
	// Locks are names of built-in locks; all when it is empty.
	Locks []string
	// Seed is the first seed, by default 1; Seeds is the number of seeds, by default 1.
	Seed  uint64
	Seeds int
	// Dir is the run directory to write; empty for none.
	Dir string
	// Runner plays the jobs; by default [Here].
	Runner Runner
}

// Run plays scenarios against locks in virtual time, judges the histories and
// compares the verdicts with the expected ones. The error is about the arguments,
// or [ErrNothing], or a defect of holdfast. After a defect, and where ctx has
// ended early, the results have what was played.
func Run(ctx context.Context, o Options) (results.Results, error) {
	list, err := Pick(o.Scenarios)
	if err != nil {
		return results.Results{}, err
	}
	names := o.Locks
	if len(names) == 0 {
		names = locks.Locks()
	}
	var contenders []*locks.Subject
	for _, name := range names {
		l, err := locks.FindSubject(name)
		if err != nil {
			return results.Results{}, err
		}
		contenders = append(contenders, l)
	}
	jobs, skipped := Plan(list, contenders, max(o.Seed, 1), max(o.Seeds, 1), BothUsers, nil)
	planned := Histories(jobs)
	res := Outcome{Planned: planned}.Results("", skipped)
	if len(jobs) == 0 {
		return res, ErrNothing
	}
	var dir Dir
	if o.Dir == "" {
		for i := range jobs {
			jobs[i].Judge = true
		}
	} else {
		if dir, err = Create(o.Dir, res); err != nil {
			return res, err
		}
		for _, s := range list {
			if err := dir.WriteScenario(s.Scenario.Name, s.Text); err != nil {
				return res, err
			}
		}
		Into(dir, jobs)
	}
	runner := o.Runner
	if runner == nil {
		runner = Here{}
	}
	out := PlaySim(ctx, jobs, runner, func() {})
	out.Planned = planned
	res = out.Results("", skipped)
	err = out.Err
	if out.Output != "" {
		err = errors.Join(err, errors.New(out.Output))
	}
	for _, d := range out.Defects {
		err = errors.Join(err, fmt.Errorf("a defect of holdfast: %s", d))
	}
	if o.Dir != "" {
		err = errors.Join(err, dir.WriteResults(res))
	}
	return res, err
}

// Replay plays every run of the directory again and compares the histories.
func (d Dir) Replay(ctx context.Context, r Runner) ([]Replayed, error) {
	res, err := d.ReadResults()
	if err != nil {
		return nil, err
	}
	jobs, err := d.ReplayJobs(res.Runs, play.Watch{})
	if err != nil {
		return nil, err
	}
	return Replay(ctx, jobs, res.Runs, r, func() {})
}
