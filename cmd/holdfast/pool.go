package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports"
)

// pool plays jobs on worker processes.
type pool struct {
	exe     string // the program to run as "exe worker"; empty for this one
	workers int
	// stall is how long, in real time, a run may take. Simulated time passes
	// only when everybody waits, so a run that takes minutes spins without
	// waiting or is deadlocked where the simulation cannot see it.
	stall time.Duration
}

// play plays every job, in order as far as workers are free, and gives each
// answer to got, one at a time, in the order they come. It returns early when
// ctx ends; jobs under way are then abandoned.
func (p pool) play(ctx context.Context, jobs []job, got func(answer)) error {
	return p.stream(ctx, len(jobs), slices.Values(jobs), got)
}

// stream is play for so many jobs that come one by one, when a worker is free
// for the next.
func (p pool) stream(ctx context.Context, n int, jobs iter.Seq[job], got func(answer)) error {
	exe := p.exe
	if exe == "" {
		var err error
		if exe, err = self(); err != nil {
			return err
		}
	}
	queue := make(chan job)
	answers := make(chan answer)
	errs := make(chan error, p.workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for range min(p.workers, max(1, n)) {
		all.Go(func() {
			if err := p.serve(ctx, exe, queue, answers); err != nil {
				errs <- err
				cancel()
			}
		})
	}
	all.Go(func() {
		defer close(queue)
		for j := range jobs {
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	go func() {
		all.Wait()
		close(answers)
	}()
	for a := range answers {
		got(a)
	}
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// serve keeps one worker process busy. One that dies or stalls is replaced,
// and its job gets a verdict of its own.
func (p pool) serve(ctx context.Context, exe string, queue <-chan job, answers chan<- answer) error {
	var w *worker
	defer func() {
		if w != nil {
			w.close()
		}
	}()
	for j := range queue {
		if w == nil {
			var err error
			if w, err = startWorker(exe); err != nil {
				return err
			}
		}
		a, ok := w.play(ctx, j, p.stall)
		if ctx.Err() != nil {
			return nil
		}
		if !ok {
			w = nil
		}
		answers <- a
	}
	return nil
}

// worker is a running worker process.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan answer // closed when no answer will come any more
	stderr *tail
	// garbage is why what the process wrote was no answer; read it once lines
	// is closed.
	garbage error
}

func startWorker(exe string) (*worker, error) {
	cmd := exec.Command(exe, "worker")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=800", "GOTRACEBACK=all")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to handle
	cmd.WaitDelay = 2 * time.Second                       // whatever else holds its streams
	w := &worker{cmd: cmd, lines: make(chan answer), stderr: &tail{max: 64 << 10}}
	cmd.Stderr = w.stderr
	var err error
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	go func() {
		defer close(w.lines)
		in := json.NewDecoder(stdout)
		for {
			var a answer
			if err := in.Decode(&a); err != nil {
				if !errors.Is(err, io.EOF) {
					w.garbage = err
				}
				return
			}
			w.lines <- a
		}
	}()
	return w, nil
}

// play gives the worker a job and waits for the answer. ok is false when the
// worker is gone; the answer then says what it left behind.
func (w *worker) play(ctx context.Context, j job, stall time.Duration) (a answer, ok bool) {
	if err := json.NewEncoder(w.stdin).Encode(j); err != nil {
		return w.lost(j, "the worker process ended"), false
	}
	timer := time.NewTimer(stall)
	defer timer.Stop()
	select {
	case a, ok := <-w.lines:
		if !ok {
			return w.lost(j, "the process running the lock under test ended: "+w.wait()), false
		}
		return a, true
	case <-timer.C:
		w.cmd.Process.Signal(syscall.SIGQUIT) // makes it print every goroutine
		select {
		case <-w.lines:
		case <-time.After(5 * time.Second):
		}
		w.kill()
		return w.lost(j, fmt.Sprintf("the lock under test made no progress for %v of real time: it spins without waiting, or is deadlocked on a mutex", stall)), false
	case <-ctx.Done():
		w.kill()
		return answer{}, false
	}
}

// lost is the answer for a job whose worker is gone: the lock under test
// failed to make progress, and nothing else can be said.
func (w *worker) lost(j job, what string) answer {
	if text := w.stderr.String(); text != "" {
		what += "\n" + text
	}
	r := reports.Run{Scenario: j.Scenario, Lock: j.Lock, World: "sim", Seed: j.Seed, File: j.readFrom(), Failure: what,
		Verdicts: map[checker.Property]checker.Verdict{
			checker.Progress: {Outcome: checker.Violated, Reason: "the run never ended; see its failure"},
		},
		Expected: map[checker.Property]checker.Outcome{checker.Progress: checker.Good},
	}
	return answer{ID: j.ID, Run: r}
}

// wait ends the process, which has stopped answering, and says how it ended.
func (w *worker) wait() string {
	w.stdin.Close()
	if w.garbage != nil {
		w.end()
		w.cmd.Wait()
		return "it wrote something that is no answer: " + w.garbage.Error()
	}
	defer time.AfterFunc(5*time.Second, w.end).Stop()
	err := w.cmd.Wait()
	switch {
	case err == nil:
		return "exit status 0"
	case w.cmd.ProcessState.ExitCode() == exitStandstill:
		return "it was deadlocked on a mutex"
	}
	return err.Error()
}

// end kills the process and what it started.
func (w *worker) end() { syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) }

func (w *worker) kill() {
	w.end()
	w.close()
}

func (w *worker) close() {
	w.stdin.Close()
	for range w.lines {
	}
	w.cmd.Wait()
}

// tail keeps the last bytes written to it.
type tail struct {
	max int
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.buf, []byte("?")))
}
