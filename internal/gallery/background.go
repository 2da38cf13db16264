package gallery

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast/lock"
)

// background is the work of a mutant between the calls of its users: goroutines that end
// when the lock is closed.
type background struct {
	Locks
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// start runs f until it returns; ctx ends with stop, and when the lock is
// closed.
func (b *background) start(f func(ctx context.Context)) (stop context.CancelFunc) {
	ctx, stop := context.WithCancel(b.ctx)
	b.all.Go(func() { f(ctx) })
	return stop
}

// Close implements [Locks].
func (b *background) Close() error {
	b.stop()
	b.all.Wait()
	return b.Locks.Close()
}

// active is a base with a background, hooks and faces. set is called once in
// each process; either of what it returns may be nil.
func active(set func(p Process, b *background) (newWire func(Process) *wire, mask func(f *face))) opening {
	return func(p Process) (Locks, error) {
		b := newBackground()
		newWire, mask := set(p, b)
		if newWire != nil {
			hook(p, newWire)
		}
		var err error
		if b.Locks, err = p.Base(p.Clients); err != nil {
			return nil, err
		}
		if mask != nil {
			b.Locks = masked{b.Locks, mask}
		}
		return b, nil
	}
}

// perHold calls begin when f's owner has got its first hold. It calls the returned
// function when the owner lets go of the last one, or asks to.
func perHold(f *face, begin func(g lock.Grant) (end func())) {
	holds, end := 0, func() {}
	f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
		g, err := asked(ctx, f.base, a, forever)
		if err != nil {
			return g, err
		}
		if holds = g.Count; holds == 1 {
			end()
			end = begin(g)
		}
		return g, nil
	}
	f.unlock = func(ctx context.Context) (int, error) {
		if holds--; holds <= 0 {
			end()
			end = func() {}
		}
		return f.base.Unlock(ctx)
	}
}
