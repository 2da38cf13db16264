package sim

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errCrashed is what every call of a crashed process's network returns.
var errCrashed = errors.New("process crashed")

// Process is a client process. Paused, its connections neither send nor
// deliver and [Process.Gate] does not return; timers inside the libraries it
// uses still fire, which is the one thing a simulated pause gets wrong.
type Process struct {
	name string

	mu      sync.Mutex
	changed *sync.Cond
	paused  bool
	crashed bool
	op      string
	cancel  context.CancelFunc // of the operation under way
	dead    context.Context
	kill    context.CancelFunc
	conns   []*pipeConn // open ones, oldest first
}

func newProcess(name string) *Process {
	p := &Process{name: name, op: "background"}
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

// Dead ends when the process crashes.
func (p *Process) Dead() context.Context { return p.dead }

// Crashed reports whether the process has crashed.
func (p *Process) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// Begin says which operation the process is in from now on, and returns a
// context for it that a cancel fault can end. done ends both.
func (p *Process) Begin(ctx context.Context, op string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	p.op, p.cancel = op, cancel
	p.mu.Unlock()
	return ctx, func() {
		p.mu.Lock()
		p.op, p.cancel = "background", nil
		p.mu.Unlock()
		cancel()
	}
}

func (p *Process) currentOp() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.op
}

func (p *Process) set(paused, crashed bool) {
	p.mu.Lock()
	p.paused = paused
	p.crashed = p.crashed || crashed
	conns := slices.Clone(p.conns)
	p.changed.Broadcast()
	p.mu.Unlock()
	for _, c := range conns {
		if !paused {
			c.out.unpark()
		}
		c.in.wake()
	}
}

func (p *Process) frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused && !p.crashed
}

func (p *Process) track(c *pipeConn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns = append(p.conns, c)
	} else if i := slices.Index(p.conns, c); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	}
}
