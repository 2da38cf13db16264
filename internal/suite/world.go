package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// World is where runs are played. A run gets its world as a value, so a program links
// only the worlds that it names.
type World interface {
	// Locks finds locks by name; without a name all locks of the world. It is called
	// before the other methods. Its error may be an [*UnknownLockError].
	Locks(ctx context.Context, names []string) ([]*locks.Lock, error)
	// Lacks returns what the world lacks for a scenario that applies to a lock, ""
	// for nothing. An error is about the settings of the world.
	Lacks(s *scenarios.Scenario, l *locks.Lock) (what string, err error)
	// Play plays jobs, whose histories lie in a run directory.
	Play(ctx context.Context, jobs []Job, dir Dir) Outcome
}

// Progress shows how far a run is.
type Progress interface {
	Now(what string)
	Step()
	Done()
}

// Show begins to show the progress of a number of jobs. The nil Show shows nothing.
type Show func(jobs int) Progress

func (s Show) Begin(jobs int) Progress {
	if s == nil {
		return unseen{}
	}
	return s(jobs)
}

// unseen is the progress without a reader.
type unseen struct{}

func (unseen) Now(string) {}
func (unseen) Step()      {}
func (unseen) Done()      {}

// Sim is the world in virtual time, with the built-in locks. It implements [World].
type Sim struct {
	Runner   Runner // plays the jobs; by default [Here]
	Progress Show
}

func (Sim) Locks(_ context.Context, names []string) ([]*locks.Lock, error) {
	var all []*locks.Lock
	names, err := LockNames(names, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		l, err := locks.Find(name)
		if err != nil {
			return nil, &UnknownLockError{Name: name, Err: err}
		}
		all = append(all, l)
	}
	return all, nil
}

// LockNames returns the names of the locks to play, each once. "all", and nil, stand for
// the built-in locks and for others.
func LockNames(names, others []string) ([]string, error) {
	const every = "all"
	if names != nil && len(names) == 0 {
		return nil, errors.New("--lock names no lock\nhint: leave it out to play all of them; holdfast list locks shows their names")
	}
	if i := slices.Index(names, every); i >= 0 || len(names) == 0 {
		names = slices.Concat(names[:max(i, 0)], locks.Names(), others, names[min(i+1, len(names)):])
	}
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once, nil
}

// UnknownLockError says that a world has no lock of a name.
type UnknownLockError struct {
	Name   string
	Others []string // the names of locks that are not built in
	Err    error
}

func (e *UnknownLockError) Error() string { return e.Err.Error() }
func (e *UnknownLockError) Unwrap() error { return e.Err }

func (Sim) Lacks(*scenarios.Scenario, *locks.Lock) (string, error) { return "", nil }

// resampled is the number of runs that Holdfast plays twice, to check that they are
// deterministic.
const resampled = 12

// Play implements [World]. It plays a sample of the jobs twice, and a run that gives
// two histories is a defect.
func (w Sim) Play(ctx context.Context, jobs []Job, _ Dir) Outcome {
	first := len(jobs)
	for i := (first - 1) % resampled; i < first; i += resampled { // at least one
		again := jobs[i]
		again.ID, again.History, again.Path, again.Judge = first+i, "", "", false // only its hash counts
		jobs = append(jobs, again)
	}
	runner := cmp.Or[Runner](w.Runner, Here{})
	progress := w.Progress.Begin(len(jobs))
	defer progress.Done()
	answers := make([]*Answer, 2*first)
	var o Outcome
	o.Err = runner.Play(ctx, jobs, func(a Answer) {
		answers[a.ID] = &a
		progress.Step()
	})
	o.Stopped = ctx.Err() != nil
	for i, a := range answers[:first] {
		if a == nil { // interrupted before it was played
			o.Left = append(o.Left, jobs[i])
			continue
		}
		o.Take(*a)
		if b := answers[first+i]; b != nil && !a.Killed && !b.Killed && b.Run.HistorySHA256 != a.Run.HistorySHA256 {
			o.Defects = append(o.Defects, fmt.Sprintf("not deterministic: %s with %s, seed %d gave two histories, %.12s and %.12s",
				jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed, a.Run.HistorySHA256, b.Run.HistorySHA256))
		}
	}
	return o
}

// Here is a [Streamer] that plays jobs in this process, one after the other. A
// lock under test that crashes or never ends takes the process with it.
type Here struct {
	Player func(Job) Answer // by default [PlayJob] without a guard
}

// Play implements [Runner].
func (h Here) Play(ctx context.Context, jobs []Job, got func(Answer)) error {
	return h.Stream(ctx, len(jobs), slices.Values(jobs), got)
}

// Stream implements [Streamer].
func (h Here) Stream(ctx context.Context, _ int, jobs iter.Seq[Job], got func(Answer)) error {
	play := h.Player
	if play == nil {
		play = func(j Job) Answer { return PlayJob(j, func(run func()) { run() }) }
	}
	for j := range jobs {
		if ctx.Err() != nil {
			return nil
		}
		got(play(j))
	}
	return nil
}
