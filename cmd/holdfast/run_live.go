package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/live/processes"
	"github.com/holdfast-go/holdfast/play/liveplay"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// Real time is spent waiting, so runs are played several at a time, each with
// servers and client processes of its own, in this one process: when it dies,
// all of them do.

// attempts is how often a run is played until the machine was quick enough,
// among many others, and then once more with one other at most.
const attempts = 3

// liveLimit bounds a run in real time, whatever happens.
const liveLimit = 10 * time.Minute

// executeLive plays the jobs on real servers.
func executeLive(ctx context.Context, jobs []suite.Job, dir suite.Dir, f runFlags, stderr io.Writer) (o suite.Outcome) {
	logging.Disable()
	exe, err := workers.Self()
	if err != nil {
		return suite.Outcome{Err: err}
	}
	servers, err := openServers(dir)
	if err != nil {
		return suite.Outcome{Err: err}
	}
	defer func() { o.Err = errors.Join(o.Err, servers.close()) }()
	bar := newProgress(stderr, len(jobs))
	defer bar.done()
	l := livePlayer{how: liveplay.Live{Backend: f.servers, Dir: string(servers), Scale: f.scale}, own: []string{exe, "client"}, locks: f.contenders, bar: bar, answers: make([]*suite.Answer, len(jobs))}
	l.playAll(ctx, jobs, f.workers)
	// Runs that the machine was too busy for get it almost to themselves.
	var again []suite.Job
	for i, a := range l.answers {
		if a != nil && a.Disturbed {
			again = append(again, jobs[i])
		}
	}
	l.playAll(ctx, again, min(2, f.workers))
	o.Stopped = ctx.Err() != nil
	for _, a := range l.answers {
		if a != nil {
			o.Take(*a)
		}
	}
	return o
}

// livePlayer plays runs on real servers.
type livePlayer struct {
	how     liveplay.Live
	own     []string // the command of a client process with a built-in lock
	locks   []contender
	bar     progress
	answers []*suite.Answer // by job
}

// playAll plays so many jobs at a time. What ctx interrupts has no answer.
func (l livePlayer) playAll(ctx context.Context, jobs []suite.Job, workers int) {
	queue := make(chan suite.Job)
	var all sync.WaitGroup
	for range min(workers, len(jobs)) {
		all.Go(func() {
			for j := range queue {
				l.bar.now(j.Scenario + " " + j.Lock)
				if a := l.play(ctx, j); ctx.Err() == nil {
					first := l.answers[j.ID] == nil
					l.answers[j.ID] = &a
					if first {
						l.bar.step()
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

// playJob plays one run, and again when the machine was too busy for it to mean
// anything: no verdict could be had, or one that is not as expected while the
// harness itself had to wait for longer than a lock can make good.
func (l livePlayer) play(ctx context.Context, j suite.Job) (a suite.Answer) {
	began := time.Now()
	for n := 1; n <= attempts; n++ {
		a = l.once(ctx, j)
		if a.Run.Attempts = n; l.answers[j.ID] != nil {
			a.Run.Attempts += l.answers[j.ID].Run.Attempts
		}
		if !a.Disturbed || ctx.Err() != nil {
			break
		}
	}
	a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return a
}

// once plays and judges one run.
func (l livePlayer) once(ctx context.Context, j suite.Job) (a suite.Answer) {
	c := l.locks[slices.IndexFunc(l.locks, func(c contender) bool { return c.subject.Name() == j.Lock })]
	a = suite.Answer{ID: j.ID, Run: results.Run{Scenario: j.Scenario, Lock: j.Lock, World: worldLive, Backend: c.backend(l.how.Backend).Name(), Seed: j.Seed, File: j.ReadFrom(),
		LockVersion: c.version, Adapters: c.adapters}}
	s, err := scenarios.Parse(j.File, []byte(j.Source))
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	how := l.how
	how.Backend = c.backend(how.Backend)
	how.Workers = slices.Clone(c.workers)
	if len(c.adapters) > 0 {
		how.Greeting = adapterStart
	}
	for i := range how.Workers {
		if how.Workers[i].Command == nil {
			how.Workers[i].Command = l.own
		}
	}
	if how.Scale == 0 {
		how.Scale = liveplay.Pace(s, c.subject)
	}
	a.Run.TimeScale = how.Scale
	how.Journal = suite.JournalPath(j.History)
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	p, err := liveplay.PlayLive(ctx, s, c.subject, j.Seed, version, how)
	var slow *liveplay.SlowMachineError
	var setup *liveplay.SetupError
	switch {
	case errors.As(err, &slow):
		a.Run.Failure, a.Disturbed = err.Error(), true
		return a
	case errors.As(err, &setup), err != nil && ctx.Err() != nil:
		a.Run.Failure = err.Error()
		return a
	case err != nil:
		a.Defect = err.Error()
		return a
	}
	suite.Record(&a.Run, p)
	a.Judge(j, s, c.subject, p.History)
	a.Disturbed = !a.Run.AsExpected && p.Disturbed
	return a
}

// serversDir is where the servers of a run directory run.
type serversDir string

const serversName = "servers"

// openServers makes the place where servers run, and ends what runs that were
// killed have left: in this run directory, and in those beside it.
func openServers(d suite.Dir) (serversDir, error) {
	own := d.File(serversName)
	left, err := serversBeside(d)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(own); err == nil && info.IsDir() && !slices.Contains(left, own) {
		left = append(left, own)
	}
	for _, dir := range left {
		if err := processes.Clean(dir); err != nil {
			return "", err
		}
		if dir != own {
			os.Remove(dir) // if it is empty now
		}
	}
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a place for servers: %w", err)
	}
	if info, err := os.Lstat(own); err != nil || !info.IsDir() {
		return "", fmt.Errorf("make a place for servers: %s is not a directory", own)
	}
	return serversDir(own), nil
}

// serversBeside lists where servers run in this run directory and those beside
// it, among them the live halves of comparisons.
func serversBeside(d suite.Dir) ([]string, error) {
	beside := []string{filepath.Dir(filepath.Clean(string(d)))}
	if filepath.Base(string(d)) == worldLive { // one itself
		beside = append(beside, filepath.Dir(beside[0]))
	}
	var found []string
	for _, parent := range beside {
		entries, err := os.ReadDir(parent)
		if err != nil {
			return nil, fmt.Errorf("look for what earlier runs left: %w", err)
		}
		for _, e := range entries {
			for _, run := range []string{filepath.Join(parent, e.Name()), filepath.Join(parent, e.Name(), worldLive)} {
				servers := filepath.Join(run, serversName)
				if info, err := os.Lstat(servers); err == nil && info.IsDir() && suite.Holds(run) {
					found = append(found, servers)
				}
			}
		}
	}
	return found, nil
}

// close removes the directory when the servers have left nothing in it.
func (s serversDir) close() error {
	if err := os.Remove(string(s)); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}
