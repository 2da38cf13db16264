package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Options say what [Run] plays, where, and what becomes of it.
type Options struct {
	// Scenarios are names of built-in scenarios, and files; all built-in ones when
	// it is empty.
	Scenarios []string
	// Locks are names of locks of the world; all of them when it is empty.
	Locks []string
	// Seed is the first seed, by default 1; Seeds is the number of seeds, by default 1.
	Seed  uint64
	Seeds int
	// Users is the kind of user for locks that are not built in, one of
	// [UserChoices]; by default both.
	Users string
	// Server is the name of the servers as they are offered, for the simulated world. By
	// default they are Redis 7 with all rights, or the first that has what a lock sends.
	Server string
	// World is where the runs are played, by default a [Sim] in this process.
	World World
	// Accepted are violations that the results count as expected.
	Accepted Accepted

	// Dir is the run directory to write; empty for none.
	Dir string
	// Report writes the report into the run directory; nil for none.
	Report func(Dir, results.Results) error
	// Command repeats the run, and Made says who played it; both are for the reader
	// of the results.
	Command string
	Made    *results.Made
}

// Run plans runs, plays and judges them, compares the verdicts with the expected
// ones, and writes the run directory. The error is about the options, such as a
// [*NothingError] or a [*DirError], and then the results are empty. Or it reports what
// went wrong meanwhile: a [*DefectsError], a [*StoreError] or a [*WorldError]. After
// these, and where ctx has ended early, the results have what was played.
func Run(ctx context.Context, o Options) (results.Results, error) {
	plan, err := NewPlan(ctx, o)
	if err != nil {
		return results.Results{}, err
	}
	return plan.Play(ctx)
}

// Play plays and judges the runs of a plan, and writes the run directory. Its
// results and its error are those of [Run].
func (p Plan) Play(ctx context.Context) (results.Results, error) {
	dir, err := p.begin()
	if err != nil {
		return results.Results{}, err
	}
	outcome := p.World.Play(ctx, p.Jobs, dir)
	res := p.results(outcome)
	p.Accepted.Apply(&res)
	return res, errors.Join(outcome.failure(), p.write(dir, res))
}

// begin opens the run directory, and lets the jobs store their histories there. A
// plan without a directory has its histories judged and dropped.
func (p Plan) begin() (Dir, error) {
	if p.Dir == "" {
		for i := range p.Jobs {
			p.Jobs[i].Judge = true
		}
		return "", nil
	}
	dir, err := Create(p.Dir, p.results(Outcome{Left: p.Jobs}))
	if err != nil {
		return "", &DirError{err}
	}
	for i, j := range p.Jobs {
		p.Jobs[i].Path = HistoryPath(j.Scenario, j.Lock, j.Seed, j.User)
		p.Jobs[i].History = dir.File(p.Jobs[i].Path)
	}
	for _, s := range p.Sources {
		if err := dir.WriteScenario(s.Scenario.Name, s.Text); err != nil {
			return "", &DirError{fmt.Errorf("output directory: %w", err)}
		}
	}
	return dir, nil
}

// results are those of a plan after an outcome.
func (p Plan) results(o Outcome) results.Results {
	return results.Results{
		Schema: results.Schema, Version: version.Holdfast, Command: p.Command, Made: p.Made,
		Runs: o.Runs, Skipped: append(p.Skipped, o.Skipped...), Summary: results.Summarize(o.Runs),
		Interrupted: o.Stopped || len(o.Left) > 0,
		Pending:     english.Words(o.Left, func(j Job) string { return HistoryPath(j.Scenario, j.Lock, j.Seed, j.User) }),
	}
}

func (p Plan) write(dir Dir, res results.Results) error {
	if dir == "" {
		return nil
	}
	err := dir.WriteResults(res)
	if p.Report != nil {
		err = errors.Join(err, p.Report(dir, res))
	}
	if err != nil {
		return &StoreError{fmt.Errorf("write run directory %s: %w", dir, err)}
	}
	return nil
}

// Outcome is the outcome of the jobs of a plan.
type Outcome struct {
	Runs    []results.Run
	Skipped []results.Skip // runs that say nothing about the lock
	Left    []Job          // not played, as the run ended before
	Defects []string       // of holdfast itself
	Output  string         // the first history that could not be written, and why
	Err     error          // the world could not play at all
	Stopped bool           // interrupted
}

// Take adds the outcome of one job.
func (o *Outcome) Take(a Answer) {
	if a.Defect != "" {
		o.Defects = append(o.Defects, a.Defect)
		a.Run.Failure = cmp.Or(a.Run.Failure, a.Defect)
		a.Run.AsExpected = false
	}
	o.Output = cmp.Or(o.Output, a.Output)
	o.Runs = append(o.Runs, a.Run)
}

// failure is the error besides those of the locks.
func (o Outcome) failure() error {
	var errs []error
	if o.Err != nil {
		errs = append(errs, &WorldError{o.Err})
	}
	if len(o.Defects) > 0 {
		errs = append(errs, &DefectsError{o.Defects})
	}
	if o.Output != "" {
		errs = append(errs, &StoreError{errors.New(o.Output)})
	}
	return errors.Join(errs...)
}

// DirError reports that [Run] cannot use the run directory, and has played nothing.
type DirError struct{ Err error }

func (e *DirError) Error() string { return e.Err.Error() }
func (e *DirError) Unwrap() error { return e.Err }

// WorldError reports that a world could not play.
type WorldError struct{ Err error }

func (e *WorldError) Error() string { return e.Err.Error() }
func (e *WorldError) Unwrap() error { return e.Err }

// DefectsError reports runs that are worthless through defects of holdfast itself.
type DefectsError struct{ Defects []string }

func (e *DefectsError) Error() string {
	return "a defect of holdfast: " + strings.Join(e.Defects, "\na defect of holdfast: ")
}
