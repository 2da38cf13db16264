package workers

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
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/redis/go-redis/v9/logging"
)

// busy is the factor by which a run may take longer beside other work than alone.
const busy = 20

// Pool plays jobs on worker processes.
type Pool struct {
	Exe     string // the program to run as "exe worker"; empty for this one
	Workers int
	Env     []string // added to the environment of the processes
	// Stall is the processor time that a run may take, see [goroutines.Detector], and
	// busy times as long in real time.
	Stall time.Duration
	// kept are the processes that wait for the next play; nil when they end
	// with each play.
	kept chan *worker
}

// Keeping is a pool whose processes live on from play to play, until stop.
func (p Pool) Keeping() Pool {
	p.kept = make(chan *worker, p.Workers)
	return p
}

// Stop ends the processes that are kept; nothing may be played any more.
func (p Pool) Stop() {
	close(p.kept)
	for w := range p.kept {
		w.close()
	}
}

// Play plays every job, in order as far as workers are free. It gives each answer
// to got, one at a time, as they come. It returns early when ctx ends, and
// abandons the jobs under way.
func (p Pool) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	return p.Stream(ctx, len(jobs), slices.Values(jobs), got)
}

// Gather plays jobs, which are numbered from 0 in their order, and returns their
// answers in that order; nil for those that were not played before ctx ended. It
// calls step after each.
func (p Pool) Gather(ctx context.Context, jobs []suite.Job, step func()) ([]*suite.Answer, error) {
	answers := make([]*suite.Answer, len(jobs))
	err := p.Play(ctx, jobs, func(a suite.Answer) {
		answers[a.ID] = &a
		step()
	})
	return answers, err
}

// Stream is Play for n jobs that come one by one. It takes the next job when a
// worker is free.
func (p Pool) Stream(ctx context.Context, n int, jobs iter.Seq[suite.Job], got func(suite.Answer)) error {
	if !startsProcesses {
		logging.Disable()
		return suite.Here{}.Stream(ctx, n, jobs, got)
	}
	exe := p.Exe
	if exe == "" {
		var err error
		if exe, err = Self(); err != nil {
			return err
		}
	}
	queue := make(chan suite.Job)
	answers := make(chan suite.Answer)
	errs := make(chan error, p.Workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for range min(p.Workers, max(1, n)) {
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
// and its job gets a verdict of its own. One that somebody else killed, such as
// the kernel when memory is short, is replaced, too, and its job is played once
// more.
func (p Pool) serve(ctx context.Context, exe string, queue <-chan suite.Job, answers chan<- suite.Answer) error {
	var w *worker
	select {
	case w = <-p.kept:
	default:
	}
	defer func() {
		switch {
		case w == nil:
		case p.kept != nil:
			select {
			case p.kept <- w:
			default: // a play inside another one has started more
				w.close()
			}
		default:
			w.close()
		}
	}()
	for j := range queue {
		var a suite.Answer
		for range 2 {
			if w == nil {
				var err error
				if w, err = startWorker(exe, append([]string{stallVariable + "=" + p.Stall.String()}, p.Env...)); err != nil {
					return err
				}
			}
			var ok bool
			if a, ok = w.play(ctx, j, p.Stall); !ok {
				w = nil
			}
			if ctx.Err() != nil {
				return nil
			}
			if !a.Killed {
				break
			}
		}
		answers <- a
	}
	return nil
}

// worker is a running worker process.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan suite.Answer // closed when no answer will come any more
	stderr *tail
	// garbage is the error of an output that was no answer; read it once lines is closed.
	garbage error
}

func startWorker(exe string, env []string) (*worker, error) {
	cmd := exec.Command(exe, "worker")
	cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1", "GOGC=800", "GOTRACEBACK=all"), env...)
	cmd.SysProcAttr = ownGroup      // Ctrl-C is ours to handle
	cmd.WaitDelay = 2 * time.Second // whatever else holds its streams
	w := &worker{cmd: cmd, lines: make(chan suite.Answer), stderr: &tail{max: 64 << 10}}
	cmd.Stderr = w.stderr
	var stdout io.Reader
	var err error
	if w.stdin, err = cmd.StdinPipe(); err == nil {
		stdout, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	go func() {
		defer close(w.lines)
		in := json.NewDecoder(stdout)
		for {
			var a suite.Answer
			if err := in.Decode(&a); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // it ended, maybe halfway
					w.garbage = err
				}
				return
			}
			w.lines <- a
		}
	}()
	return w, nil
}

// playJob gives the worker a job and waits for the answer. ok is false when the
// worker is gone; the answer then says what it left behind.
func (w *worker) play(ctx context.Context, j suite.Job, stall time.Duration) (a suite.Answer, ok bool) {
	if err := json.NewEncoder(w.stdin).Encode(j); err != nil {
		return w.ended(j), false
	}
	patience := stall * busy // until then the worker ends itself
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a, ok := <-w.lines:
		switch {
		case !ok:
			return w.ended(j), false
		case a.Stalled != "":
			w.kill()
			return a, false
		}
		return a, true
	case <-timer.C:
		w.cmd.Process.Signal(syscall.SIGQUIT) // makes it print every goroutine
		select {
		case <-w.lines:
		case <-time.After(5 * time.Second):
		}
		w.kill()
		what := fmt.Sprintf("the lock under test made no progress for %v of real time: it spins without waiting, or is deadlocked on a mutex", patience)
		return stalled(j, goroutines.Endless, w.withStderr(what)), false
	case <-ctx.Done():
		w.kill()
		return suite.Answer{}, false
	}
}

// ended is the answer for a job whose worker is gone by itself, or was killed
// by somebody else.
func (w *worker) ended(j suite.Job) suite.Answer {
	how, killed := w.wait()
	if killed {
		return wasKilled(j)
	}
	return withoutEnd(j, w.withStderr("the process running the lock under test ended: "+how), noEnd)
}

// noEnd is the verdict on the progress of a run that failed to make any.
var noEnd = checker.Verdict{Outcome: checker.Violated, Reason: "the run never ended; see its failure"}

// stalled is the answer for a job whose run does not end. If go-redis has stopped
// virtual time, that says nothing about the lock.
func stalled(j suite.Job, how goroutines.Kind, what string) suite.Answer {
	verdict := noEnd
	if how == goroutines.ClientDeadlocked {
		verdict = checker.Verdict{Outcome: checker.Unknown, Reason: "go-redis stopped virtual time: it holds a mutex while it waits for the network"}
	}
	a := withoutEnd(j, what, verdict)
	a.Stalled = how
	return a
}

// withStderr adds the end of what the process wrote to stderr.
func (w *worker) withStderr(what string) string {
	if text := w.stderr.String(); text != "" {
		what += "\n" + text
	}
	return what
}

// wasKilled is the answer for a job whose worker was killed from outside. That
// proves nothing about the lock.
func wasKilled(j suite.Job) suite.Answer {
	a := withoutEnd(j, "the worker process was killed (SIGKILL), and not by holdfast; played once more, it was killed again",
		checker.Verdict{Outcome: checker.Unknown, Reason: "the worker process was killed from outside, as the kernel does when memory is short"})
	a.Killed = true
	return a
}

// KilledHint is the remedy for a killed worker.
const KilledHint = "where memory is short the kernel kills what needs most of it: play with fewer --workers, or give it more"

// withoutEnd is the answer for a job whose run had no visible end.
func withoutEnd(j suite.Job, failure string, progress checker.Verdict) suite.Answer {
	a := suite.Answer{ID: j.ID, Run: j.Run("sim")}
	a.Run.Failure = failure
	a.Run.Verdicts = map[checker.Property]checker.Verdict{checker.Progress: progress}
	a.Run.Expected = map[checker.Property]checker.Outcome{checker.Progress: checker.OutcomeOK}
	return a
}

// wait ends the process, which has stopped answering, and says how it ended,
// and whether somebody else killed it.
func (w *worker) wait() (how string, killed bool) {
	w.stdin.Close()
	patience := time.AfterFunc(5*time.Second, w.end)
	for range w.lines {
	}
	if w.garbage != nil {
		w.end()
		w.cmd.Wait()
		return "it wrote something that is no answer: " + w.garbage.Error(), false
	}
	err := w.cmd.Wait()
	byUs := !patience.Stop()
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil {
		return "exit status 0", false
	}
	return err.Error(), status.Signaled() && status.Signal() == syscall.SIGKILL && !byUs
}

func (w *worker) end() { killGroup(w.cmd.Process) }

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
