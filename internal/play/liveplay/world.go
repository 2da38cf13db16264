package liveplay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Most of real time is waiting, so runs are played several at a time. Each has servers
// and client processes of its own, in this one process: when it dies, all of them do.

// attempts is the number of times that a run is played among many others until the
// machine was quick enough. Then it is played once more, with at most one other.
const attempts = 3

// limit bounds a run in real time, whatever happens.
const limit = 10 * time.Minute

// World is the world of real servers and processes, in real time.
type World struct {
	Backend servers.Backend
	Scale   float64  // of the scenarios' times; 0 for what suits each
	Client  []string // the command of a client process with a built-in lock
	Workers int      // jobs at a time
	// Adapters are the commands of processes that have locks of their own.
	// AdapterStart bounds how long one may take to answer the first request.
	Adapters     []string
	AdapterStart time.Duration
	// Accepts reports whether a list accepts each unexpected verdict of a run, which then
	// needs no repetition on a busy machine; nil accepts none.
	Accepts  func(results.Run) bool
	Progress suite.Show

	locks []Lock // those of [World.Locks]
}

type playing struct {
	*World
	servers  serversDir
	answers  []*suite.Answer // by job
	progress suite.Progress
}

// Play implements [suite.World]. The servers of the jobs run in the run directory.
func (w *World) Play(ctx context.Context, jobs []suite.Job, dir suite.Dir) (o suite.Outcome) {
	answers, err := w.answer(ctx, jobs, dir)
	o.Stopped, o.Err = ctx.Err() != nil, err
	for i, a := range answers {
		if a == nil {
			o.Left = append(o.Left, jobs[i])
			continue
		}
		o.Take(*a)
	}
	return o
}

// Runner plays the jobs of a search. It is a [suite.Streamer].
type Runner struct{ *World }

// Play implements [suite.Runner].
func (r Runner) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	answers, err := r.answer(ctx, jobs, "")
	for _, a := range answers {
		if a != nil {
			got(*a)
		}
	}
	return err
}

// Stream implements [suite.Streamer].
func (r Runner) Stream(ctx context.Context, _ int, jobs iter.Seq[suite.Job], got func(suite.Answer)) error {
	return r.Play(ctx, slices.Collect(jobs), got)
}

// answer plays jobs, and returns their answers in the order of the jobs. An interrupted job
// has none.
func (w *World) answer(ctx context.Context, jobs []suite.Job, dir suite.Dir) (answers []*suite.Answer, err error) {
	logging.Disable()
	answers = make([]*suite.Answer, len(jobs))
	servers, err := openServers(dir)
	if err != nil {
		return answers, err
	}
	defer func() { err = errors.Join(err, servers.close()) }()
	p := playing{World: w, servers: servers, answers: answers, progress: w.Progress.Begin(len(jobs))}
	defer p.progress.Done()
	p.playAll(ctx, jobs, w.Workers)
	// Runs that the machine was too busy for get it almost to themselves.
	var again []suite.Job
	for i, a := range p.answers {
		if a != nil && a.Disturbed {
			again = append(again, jobs[i])
		}
	}
	p.playAll(ctx, again, min(2, w.Workers))
	return answers, nil
}

// playAll plays several jobs at a time. An interrupted job has no answer.
func (p playing) playAll(ctx context.Context, jobs []suite.Job, workers int) {
	queue := make(chan suite.Job)
	var all sync.WaitGroup
	for range min(workers, len(jobs)) {
		all.Go(func() {
			for j := range queue {
				p.progress.Now(j.Scenario + " " + j.Lock)
				if a := p.play(ctx, j); ctx.Err() == nil {
					first := p.answers[j.ID] == nil
					p.answers[j.ID] = &a
					if first {
						p.progress.Step()
					}
				}
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		queue <- j
	}
	close(queue)
	all.Wait()
}

// play plays one run, and repeats it if the machine was too busy for a meaningful result.
// Such a run has no verdict. Or its unexpected verdict does not count while the harness
// waited for longer than a lock can make good.
func (p playing) play(ctx context.Context, j suite.Job) (a suite.Answer) {
	began := time.Now()
	for n := 1; n <= attempts; n++ {
		a = p.once(ctx, j)
		if a.Run.Attempts = n; p.answers[j.ID] != nil {
			a.Run.Attempts += p.answers[j.ID].Run.Attempts
		}
		if !a.Disturbed || ctx.Err() != nil {
			break
		}
	}
	a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return a
}

// once plays and judges one run.
func (p playing) once(ctx context.Context, j suite.Job) suite.Answer {
	l := p.lock(j.Lock)
	how := Live{Backend: l.backend(p.Backend), Dir: string(p.servers), Scale: p.Scale, Greeting: l.start, Processes: slices.Clone(l.processes)}
	if j.History != "" {
		how.Journal = suite.JournalPath(j.History)
	}
	for i := range how.Processes {
		if how.Processes[i].Command == nil {
			how.Processes[i].Command = p.Client
		}
	}
	a := suite.Answer{ID: j.ID, Run: j.Run("live")}
	a.Run.Backend, a.Run.LockVersion, a.Run.Adapters = how.Backend.Name(), l.version, l.adapters
	s, err := j.Load()
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	if how.Scale == 0 {
		how.Scale = pace(s, l.Lock)
	}
	a.Run.TimeScale = how.Scale
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	played, err := j.Once(&a.Run, s, l.Lock, func() (*play.Played, error) {
		return PlayLive(ctx, s, l.Lock, j.Seed, version.Holdfast, how)
	})
	var slow *SlowMachineError
	var setup *SetupError
	switch {
	case errors.As(err, &slow):
		a.Run.Failure, a.Disturbed = err.Error(), true
		return a
	case errors.As(err, &setup), err != nil && ctx.Err() != nil:
		a.Run.Failure = err.Error()
		return a
	case err != nil:
		a.Took(err)
	}
	if played == nil {
		return a
	}
	a.Disturbed = played.Disturbed && !a.Run.AsExpected && (p.Accepts == nil || !p.Accepts(a.Run))
	return a
}
