package sim

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
)

// errCrashed is the error of every network call in a crashed process.
var errCrashed = errors.New("process crashed")

// Process is a client process. While it is paused, its connections neither send
// nor deliver, and [faults.Process.Gate] does not return. Timers in its libraries
// still fire, which is the one inaccuracy of a simulated pause.
type Process struct {
	*faults.Process

	mu    sync.Mutex
	conns []*pipeConn // open ones, oldest first
	left  []*pipeConn // closed during a pause: what they wrote and the end of it leave after it

	wall    clock     // of the machine; monotonic time is true
	read    bool      // somebody has read it
	resumed time.Time // when a call last came out of a pause
	behind  int       // how many did at that instant
}

// Now stands for [time.Now] of a process on a machine of its own. It returns the time by
// the wall clock of the machine, with a monotonic reading that no fault moves. So the
// difference of two such times is true. [time.Now] gives no such reading in a bubble.
func (p *Process) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = true
	return withMonotonic(p.wall.now(), time.Since(epoch))
}

// IsRead reports whether anybody has called Now.
func (p *Process) IsRead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

func (p *Process) setClock(jump time.Duration, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wall = p.wall.set(jump, rate)
}

// SetPaused freezes or resumes the connections of the process.
func (p *Process) SetPaused(paused bool) {
	p.Process.SetPaused(paused)
	if !paused {
		for _, c := range p.takeLeft() {
			c.out.unpark()
		}
	}
	for _, c := range p.open() {
		if !paused {
			c.out.unpark()
		}
		c.in.wake()
	}
}

// Crash drops all data that the connections hold.
func (p *Process) Crash() {
	p.Process.Crash()
	for _, c := range p.takeLeft() {
		c.reset()
	}
	for _, c := range p.open() {
		c.out.unpark()
		c.in.wake()
	}
}

// follow delays a call after a pause by a nanosecond beyond the one before it.
// Otherwise both would act at one instant as long as they do the same, such as to
// dial every 100 ms. The caller has taken its turn.
func (p *Process) follow() {
	p.mu.Lock()
	if now := time.Now(); !now.Equal(p.resumed) {
		p.resumed, p.behind = now, 0
	}
	wait := time.Duration(p.behind)
	p.behind++
	p.mu.Unlock()
	time.Sleep(wait)
}

func (p *Process) open() []*pipeConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.conns)
}

func (p *Process) takeLeft() []*pipeConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.left
	p.left = nil
	return left
}

func (p *Process) track(c *pipeConn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns = append(p.conns, c)
	} else if i := slices.Index(p.conns, c); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
		if p.Paused() {
			p.left = append(p.left, c)
		}
	}
}
