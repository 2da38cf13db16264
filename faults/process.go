package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Process is a client process for its workload and the faults. It can be paused,
// crash, and have its operation cancelled. The world adds its own effects, such as
// frozen connections or signals. The methods are safe for concurrent use.
type Process struct {
	name string

	mu      sync.Mutex
	changed *sync.Cond
	paused  bool
	crashed bool
	ops     []*operation // under way, in the order in which they began
	dead    context.Context
	kill    context.CancelFunc
}

type operation struct {
	name   string
	cancel context.CancelFunc
}

// NewProcess returns a running process.
func NewProcess(name string) *Process {
	p := &Process{name: name}
	p.changed = sync.NewCond(&p.mu)
	p.dead, p.kill = context.WithCancel(context.Background())
	return p
}

// Name is the process's name, "client-1".
func (p *Process) Name() string { return p.name }

// Gate waits while the process is paused. It returns false if the process has crashed.
func (p *Process) Gate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.paused && !p.crashed {
		p.changed.Wait()
	}
	return !p.crashed
}

// Dead ends when the process crashes or its world ends.
func (p *Process) Dead() context.Context { return p.dead }

// Crashed reports whether the process has crashed.
func (p *Process) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// Paused reports whether the process is paused. It is false after a crash.
func (p *Process) Paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused && !p.crashed
}

// Begin starts an operation of the process, and returns a context for it that
// [Process.Cancel] ends. done ends both. Several operations may be open.
func (p *Process) Begin(ctx context.Context, op string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	o := &operation{op, cancel}
	p.mu.Lock()
	p.ops = append(p.ops, o)
	p.mu.Unlock()
	return ctx, func() {
		p.mu.Lock()
		p.ops = slices.DeleteFunc(p.ops, func(x *operation) bool { return x == o })
		p.mu.Unlock()
		cancel()
	}
}

// Op is the open operation that started last, or "background".
func (p *Process) Op() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ops) == 0 {
		return "background"
	}
	return p.ops[len(p.ops)-1].name
}

// Cancel ends the context of the open operation that started first, or last. It fails if
// no operation is open.
func (p *Process) Cancel(first bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.ops) - 1
	if i < 0 {
		return fmt.Errorf("%s is in no operation that could be cancelled", p.name)
	}
	if first {
		i = 0
	}
	p.ops[i].cancel()
	return nil
}

// SetPaused closes or opens the gate.
func (p *Process) SetPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	p.changed.Broadcast()
}

// Crash ends [Process.Dead], and makes every Gate return false. Further calls do nothing.
func (p *Process) Crash() {
	p.mu.Lock()
	p.crashed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.kill()
}

// Over ends [Process.Dead] together with the world of the process. It is no crash.
func (p *Process) Over() { p.kill() }
