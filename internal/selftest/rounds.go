package selftest

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Progress is called before every round, with the number of its runs and of the
// open trials. It returns two functions: one to call after each run, one after
// the last.
type Progress func(runs, trials int) (step, done func())

// trial is one attempt at a mutant, with seeds of its own.
type trial interface {
	// done reports whether the trial has played all its runs.
	done() bool
	// next are the runs of the trial's next round. They depend on the trial
	// alone, so that any number of workers gives the same result.
	next() []suite.Job
	// take adds the answers to these runs. A nil answer is that of an interrupted
	// run.
	take(answers []*suite.Answer)
}

// playRounds plays rounds until every trial is over or ctx ends. In each round,
// every open trial plays its next runs.
func playRounds(ctx context.Context, pool workers.Pool, trials []trial, p Progress) error {
	for {
		trials = slices.DeleteFunc(trials, trial.done)
		if len(trials) == 0 || ctx.Err() != nil {
			return nil
		}
		var jobs []suite.Job
		var ends []int // of each trial's jobs
		for _, t := range trials {
			jobs = append(jobs, t.next()...)
			ends = append(ends, len(jobs))
		}
		for i := range jobs {
			jobs[i].ID = i
		}
		step, done := p(len(jobs), len(trials))
		answers, err := pool.Gather(ctx, jobs, step)
		done()
		if err != nil {
			return err
		}
		first := 0
		for i, t := range trials {
			t.take(answers[first:ends[i]])
			first = ends[i]
		}
	}
}

// campaign is the common part of both ways to look for a mutant. It counts runs
// that show nothing: those without a verdict, and defects of Holdfast.
type campaign struct {
	mutant    gallery.Mutant
	noVerdict []string
	defects   []string
}

// useless records a run that shows nothing, and reports whether it is one.
func (c *campaign) useless(a *suite.Answer, which string) bool {
	switch {
	case a.Defect != "":
		c.defects = append(c.defects, which+": "+a.Defect)
	case a.Run.Failure != "":
		c.noVerdict = append(c.noVerdict, which+": "+a.Run.FailureReason())
	default:
		return false
	}
	return true
}

// Flaws are the runs that show nothing about a mutant.
type Flaws struct {
	Defects []string `json:"defects,omitempty"`
	// NoVerdict are the runs that never ended, or ended their process.
	NoVerdict []string `json:"no_verdict,omitempty"`
	WallMS    float64  `json:"wall_ms"` // of everything, on all cores
}

func (f *Flaws) collect(c campaign) {
	f.Defects = append(f.Defects, c.defects...)
	f.NoVerdict = append(f.NoVerdict, c.noVerdict...)
}

// midpoint is the index of the median of n values: the lower one of an even
// number.
func midpoint(n int) int { return (n - 1) / 2 }

// UnknownMutantError means that the gallery has no such mutant. It lists the
// existing ones.
type UnknownMutantError struct {
	Name  string
	Known []string
}

func (e *UnknownMutantError) Error() string { return fmt.Sprintf("unknown mutant %q", e.Name) }

// PickMutants finds mutants of the gallery by name; none means all.
func PickMutants(names []string) ([]gallery.Mutant, error) {
	all := locks.Mutants()
	if len(names) == 0 {
		return all, nil
	}
	known := english.Words(all, func(m gallery.Mutant) string { return m.Name })
	var list []gallery.Mutant
	for i, name := range names {
		j := slices.Index(known, name)
		if j < 0 {
			return nil, &UnknownMutantError{name, known}
		}
		if slices.Index(names, name) < i {
			return nil, fmt.Errorf("mutant %s is given twice", name)
		}
		list = append(list, all[j])
	}
	return list, nil
}
