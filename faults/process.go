package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Process is a client process as its workload and the faults see it: it can be
// paused, crash, and have the operation it is in cancelled. What a world has
// to do besides, such as freezing connections or sending signals, it does
// itself. The methods are safe for concurrent use.
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

// operation is one that is under way.
type operation struct {
	name   string
	cancel context.CancelFunc
}

// NewProcess returns a process that runs.
func NewProcess(name string) *Process {
	p := &Process{name: name}
	p.changed = sync.NewCond(&p.mu)
	p.dead, p.kill = context.WithCancel(context.Background())
	return p
}

// Name is the process's name, "client-1".
func (p *Process) Name() string { return p.name }

// Gate returns once the process is not paused; false means it has crashed.
func (p *Process) Gate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.paused && !p.crashed {
		p.changed.Wait()
	}
	return !p.crashed
}

// Dead ends when the process crashes, or its world is over.
func (p *Process) Dead() context.Context { return p.dead }

// Crashed reports whether the process has crashed.
func (p *Process) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// Paused reports whether the process is paused. One that has crashed is not.
func (p *Process) Paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused && !p.crashed
}

// Begin says which operation the process is in from now on, and returns a
// context for it that [Process.Cancel] ends. done ends both. Several may be
// under way.
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

// latest is the operation under way that began last, nil without one.
func (p *Process) latest() *operation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ops) == 0 {
		return nil
	}
	return p.ops[len(p.ops)-1]
}

// Op is the operation the process is in, "background" while it is in none; of
// several the one that began last.
func (p *Process) Op() string {
	if o := p.latest(); o != nil {
		return o.name
	}
	return "background"
}

// Cancel ends the context of the operation under way, of several the one that
// began last; it is an error when there is none.
func (p *Process) Cancel() error {
	o := p.latest()
	if o == nil {
		return fmt.Errorf("%s is in no operation that could be cancelled", p.name)
	}
	o.cancel()
	return nil
}

// SetPaused closes or opens the gate.
func (p *Process) SetPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	p.changed.Broadcast()
}

// Crash opens the gate for good, for nothing to go through, and ends
// [Process.Dead]. Once is as good as twice.
func (p *Process) Crash() {
	p.mu.Lock()
	p.crashed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.kill()
}

// Over ends [Process.Dead] with the world that the process is in. It is no
// crash.
func (p *Process) Over() { p.kill() }
