package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Real time is spent waiting, so runs are played several at a time, each with
// servers and client processes of its own, in this one process: when it dies,
// all of them do.

// attempts is how often a run is played until the machine was quick enough.
const attempts = 4

// liveLimit bounds a run in real time, whatever happens.
const liveLimit = 10 * time.Minute

// executeLive plays the jobs on real servers.
func executeLive(ctx context.Context, jobs []job, dir runDir, f runFlags, stderr io.Writer) (o outcome) {
	redis.SetLogger(quiet{})
	exe, err := os.Executable()
	if err != nil {
		return outcome{err: fmt.Errorf("find own executable: %w", err)}
	}
	servers, err := dir.openServers()
	if err != nil {
		return outcome{err: err}
	}
	defer func() { o.err = errors.Join(o.err, servers.close()) }()
	for i := range jobs {
		jobs[i].Path = historyPath(jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed)
		jobs[i].History = dir.file(jobs[i].Path)
	}
	bar := newProgress(stderr, len(jobs))
	defer bar.done()
	how := scenarios.Live{Backend: f.servers, Dir: string(servers), Worker: []string{exe, "client"}, Scale: f.scale}
	answers := make([]*answer, len(jobs))
	queue := make(chan int)
	var all sync.WaitGroup
	for range min(f.workers, len(jobs)) {
		all.Go(func() {
			for i := range queue {
				bar.now(jobs[i].Scenario + " " + jobs[i].Lock)
				if a := playLive(ctx, jobs[i], how); ctx.Err() == nil {
					answers[i] = &a
				}
				bar.step()
			}
		})
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	all.Wait()
	o.stopped = ctx.Err() != nil
	for _, a := range answers {
		if a != nil {
			o.take(*a)
		}
	}
	return o
}

// playLive plays one run on real servers, again if the machine was too slow,
// and judges it.
func playLive(ctx context.Context, j job, how scenarios.Live) (a answer) {
	a = answer{ID: j.ID, Run: reports.Run{Scenario: j.Scenario, Lock: j.Lock, World: worldLive, Backend: how.Backend.Name(), Seed: j.Seed, File: j.readFrom()}}
	began := time.Now()
	defer func() { a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000 }()
	s, err := scenarios.Parse(j.File, []byte(j.Source))
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	if how.Scale == 0 {
		how.Scale = s.Pace(j.Lock)
	}
	a.Run.TimeScale = how.Scale
	how.Journal = journalPath(j.History)
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	var p *scenarios.Played
	var slow *scenarios.SlowMachineError
	for a.Run.Attempts < attempts && (p == nil || errors.As(err, &slow)) && ctx.Err() == nil {
		a.Run.Attempts++
		if p, err = scenarios.PlayLive(ctx, s, j.Lock, j.Seed, version, how); err != nil && !errors.As(err, &slow) {
			break
		}
	}
	var setup *scenarios.SetupError
	switch {
	case errors.As(err, &setup), errors.As(err, &slow), ctx.Err() != nil:
		a.Run.Failure = fmt.Sprint(errors.Join(err, ctx.Err()))
		return a
	case err != nil:
		a.Defect = err.Error()
		return a
	}
	a.record(p)
	a.judge(j, s, p.History)
	return a
}

// journalPath is where a history is written to while it is recorded.
func journalPath(history string) string { return history + ".part" }

// serversDir is where the servers of a run directory run.
type serversDir string

const serversName = "servers"

// openServers makes the place where servers run, and ends what runs that were
// killed have left: in this run directory, and in those beside it.
func (d runDir) openServers() (serversDir, error) {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Clean(string(d))), "*", serversName))
	if err != nil {
		return "", err
	}
	own := d.file(serversName)
	for _, dir := range append(left, own) {
		if err := live.Clean(dir); err != nil {
			return "", err
		}
		if dir != own {
			os.Remove(dir) // if it is empty now
		}
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		return "", fmt.Errorf("make a place for servers: %w", err)
	}
	return serversDir(own), nil
}

func (s serversDir) close() error { return os.RemoveAll(string(s)) }
