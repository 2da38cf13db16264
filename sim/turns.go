package sim

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
)

// turns lets goroutines that reach a point at the same instant pass it one after
// the other. Their order does not depend on the scheduler. The next one passes
// when all others are blocked, including those that passed before it. No virtual
// time passes meanwhile.
//
// Do not wait for a turn while holding a mutex that others may want. A goroutine
// that waits for a mutex does not count as blocked.
type turns struct {
	mu      sync.Mutex
	waiting []*turn
	closed  bool
	arrived chan struct{} // capacity 1: somebody waits, or it is closed
	done    chan struct{} // closed when the goroutine has ended
}

// turn is one waiting goroutine.
type turn struct {
	key  turnKey
	pass chan struct{}
}

// turnKey orders the goroutines that wait at one instant.
type turnKey struct {
	last     bool   // after everybody else
	from, to string // of the link
	who      string // the mark of a goroutine that dials
	n        int    // of the connection
}

func (k turnKey) compare(o turnKey) int {
	switch {
	case k.last == o.last:
		return cmp.Or(cmp.Compare(k.from, o.from), cmp.Compare(k.to, o.to), cmp.Compare(k.who, o.who), cmp.Compare(k.n, o.n))
	case k.last:
		return 1
	}
	return -1
}

func newTurns() *turns {
	t := &turns{arrived: make(chan struct{}, 1), done: make(chan struct{})}
	go t.run()
	return t
}

// take returns when it is the caller's turn, or at once after close.
func (t *turns) take(k turnKey) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	own := &turn{key: k, pass: make(chan struct{})}
	t.waiting = append(t.waiting, own)
	t.mu.Unlock()
	t.signal()
	<-own.pass
}

func (t *turns) signal() {
	select {
	case t.arrived <- struct{}{}:
	default:
	}
}

// close lets every goroutine pass from now on.
func (t *turns) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.signal()
	<-t.done
}

func (t *turns) run() {
	defer close(t.done)
	for range t.arrived {
		for t.some() {
			synctest.Wait()
			close(t.next().pass)
		}
		if t.over() {
			return
		}
	}
}

func (t *turns) some() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) > 0
}

func (t *turns) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed && len(t.waiting) == 0
}

// next removes and returns the first turn.
func (t *turns) next() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := slices.MinFunc(t.waiting, func(a, b *turn) int { return a.key.compare(b.key) })
	t.waiting = without(t.waiting, first)
	return first
}
