package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
)

// Process is a client process: an OS process that speaks the protocol of package
// adapter on its standard input and output. It leads a process group, which is
// paused and killed as one. The kernel kills it when the harness dies.
type Process struct {
	*faults.Process
	conversation *adapter.Conversation
	cmd          *exec.Cmd
	stderr       tail
	done         chan struct{} // closed when it has ended

	mu     sync.Mutex
	waited bool // its pid is not its own any more
	wanted bool // its end is
	err    error
}

// Error reports that a client process ended without a request to do so, with the
// end of its standard error.
type Error struct {
	Process string
	Stderr  string
	Err     error
}

func (e *Error) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s: %v; its stderr is empty", e.Process, e.Err)
	}
	return fmt.Sprintf("%s: %v; the end of its stderr:\n%s", e.Process, e.Err, e.Stderr)
}

func (e *Error) Unwrap() error { return e.Err }

// grace limits two times: between the end of a process's output and its exit, and
// the reading of its output after the exit.
const grace = time.Second

// Start starts a process in a directory of its own, which exists already. File
// names in argv other than that of the program must be absolute; env is added to
// the harness' environment. The caller must end the process with [Process.Stop],
// [Process.Kill] or [Process.End].
func Start(name, dir string, argv, env []string) (*Process, error) {
	p, err := start(name, dir, argv, env)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func start(name, dir string, argv, env []string) (*Process, error) {
	if len(argv) == 0 {
		return nil, errors.New("no command is given")
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	p := &Process{Process: faults.NewProcess(name), done: make(chan struct{})}
	p.cmd = exec.Command(program, argv[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, append(os.Environ(), env...), &p.stderr
	p.cmd.WaitDelay = grace // a child of its own may keep stderr open
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe, which is closed at the process' end, read or not.
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	p.cmd.Stdout = stdout
	err = Spawn(p.cmd)
	if err = errors.Join(err, stdout.Close()); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	p.conversation = adapter.New(name, in, out)
	pidErr := WritePID(dir, p.cmd.Process.Pid)
	go p.watch()
	if pidErr != nil && !errors.Is(pidErr, os.ErrProcessDone) { // Ended reports one that ended at once
		return nil, errors.Join(pidErr, p.End())
	}
	return p, nil
}

// watch waits for the end of the process, and kills a process that no longer
// communicates.
func (p *Process) watch() {
	exited := make(chan struct{})
	go func() {
		select {
		case <-p.conversation.Ended():
		case <-exited:
			return
		}
		patience := grace
		if p.isWanted() { // its exit is on its way
			patience = limit
		}
		if !within(patience, exited) {
			_ = p.signal(syscall.SIGKILL) // it goes on being waited for; End tells when this fails
		}
	}()
	// The pid is the process's own until it is waited for: see signal.
	status := p.wait()
	close(exited)
	within(grace, p.conversation.Ended()) // what it said last is being read
	p.conversation.End(errors.Join(adapter.ErrEnded, status))
	p.mu.Lock()
	if !p.wanted {
		p.err = &Error{Process: p.Name(), Stderr: p.Stderr(), Err: p.cause(status)}
	}
	p.mu.Unlock()
	close(p.done)
}

// cause is the reason of an unrequested end: a wrong message, or the exit status.
func (p *Process) cause(status error) error {
	var wrong *adapter.ProtocolError
	switch err := p.conversation.Err(); {
	case errors.As(err, &wrong):
		return wrong
	case status != nil:
		return fmt.Errorf("%w: %w", adapter.ErrEnded, status)
	default:
		return fmt.Errorf("%w: exit status 0", adapter.ErrEnded)
	}
}

// wait waits for the exit of the process, and then kills the rest of its group.
func (p *Process) wait() error {
	awaitExit(p.cmd.Process.Pid)
	p.mu.Lock()
	// Its children go with it; the pid is the group's as long as it is a zombie.
	_ = signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	p.waited = true
	p.mu.Unlock()
	return p.cmd.Wait()
}

// signal sends a signal to the process and its children. It does nothing after the
// exit.
func (p *Process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waited {
		return nil
	}
	if err := signalGroup(p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to %s: %w", sig, p.Name(), err)
	}
	return nil
}

// Conversation is the harness' side of the protocol with the process.
func (p *Process) Conversation() *adapter.Conversation { return p.conversation }

// Pause stops the process. When it returns, the gate is closed and no thread of
// the process and its children runs. If that fails, the process goes on, and Pause
// returns an error.
func (p *Process) Pause() error {
	if p.exited() {
		return fmt.Errorf("%s has ended", p.Name())
	}
	p.SetPaused(true)
	err := p.signal(StopSignal)
	if err == nil {
		err = p.awaitStop()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("pause: %w", err), p.Resume())
	}
	return nil
}

// awaitStop waits until every thread of the process has stopped: after kill
// returns, its threads on other cores may still run for a moment.
func (p *Process) awaitStop() error {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		running := stopped(p.cmd.Process.Pid)
		if running == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return adapter.ErrEnded
		case <-late.C:
			return fmt.Errorf("%s does not stop within %s: %w", p.Name(), limit, running)
		}
	}
}

// Cancel ends the context of the open operation. It returns when the process has
// ended its own context, so the lock sees the cancellation in everything later.
func (p *Process) Cancel(first bool) error {
	if err := p.Process.Cancel(first); err != nil {
		return err
	}
	if p.Paused() {
		return nil // it will know when it goes on
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return p.conversation.AwaitCancels(ctx)
}

// Resume continues the process, and then opens the gate.
func (p *Process) Resume() error {
	err := p.signal(ContinueSignal)
	p.SetPaused(false)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// Kill crashes the process, paused or not. When it returns, the process has ended.
// Further calls do nothing.
func (p *Process) Kill() error {
	p.Crash()
	return p.End()
}

// Stop asks the process to exit, waits for that, and kills it if ctx ends before.
// It returns an error if the process had to be killed or failed.
func (p *Process) Stop(ctx context.Context) error {
	p.want()
	err := p.conversation.Stop(ctx)
	if err == nil {
		select {
		case <-p.done:
			if !p.cmd.ProcessState.Success() {
				return fmt.Errorf("stop %s: %s", p.Name(), p.cmd.ProcessState)
			}
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return errors.Join(fmt.Errorf("stop %s: %w", p.Name(), err), p.End())
}

func (p *Process) exited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waited
}

func (p *Process) isWanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

func (p *Process) want() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
}

// End kills the process and waits until it has ended.
func (p *Process) End() error {
	p.want()
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !within(limit, p.done) {
		return fmt.Errorf("%s does not end within %s", p.Name(), limit)
	}
	return nil
}

// Ended is closed when the process has ended, for any reason.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Err is an [Error] if the process ended without Stop, Kill or the end of the
// world. Such an end is no crash for the workload: its calls fail.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Wait waits until the process has ended or ctx does, and returns Err.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.Err()
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", p.Name(), ctx.Err())
	}
}

// Stderr is the end of the process' standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// within waits for an event, and reports whether it came in time.
func within(d time.Duration, event <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-event:
		return true
	case <-t.C:
		return false
	}
}
