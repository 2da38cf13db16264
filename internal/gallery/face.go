package gallery

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/lock"
)

// face is a locker that misleads its caller. The base keeps all that it does not replace.
// It implements [lock.Locker] and [lock.HoldCounter].
type face struct {
	base    lock.Locker
	acquire acquire
	unlock  func(ctx context.Context) (int, error)
	lost    func() <-chan struct{}
}

// acquire is Lock, with forever, and TryLock.
type acquire func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error)

var (
	_ lock.LostNotifier = (*face)(nil)
	_ lock.HoldCounter  = (*face)(nil)
)

func (f *face) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	if f.acquire != nil {
		return f.acquire(ctx, lock.NewAcquire(opts), true)
	}
	return f.base.Lock(ctx, opts...)
}

func (f *face) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	if f.acquire != nil {
		return f.acquire(ctx, lock.NewAcquire(opts), false)
	}
	return f.base.TryLock(ctx, opts...)
}

func (f *face) Unlock(ctx context.Context) (int, error) {
	if f.unlock != nil {
		return f.unlock(ctx)
	}
	return f.base.Unlock(ctx)
}

// Lost implements [lock.LostNotifier]; nil where the base is none.
func (f *face) Lost() <-chan struct{} {
	if f.lost != nil {
		return f.lost()
	}
	return lostOf(f.base)
}

func lostOf(l lock.Locker) <-chan struct{} {
	if n, ok := l.(lock.LostNotifier); ok {
		return n.Lost()
	}
	return nil
}

func (f *face) HoldCount(ctx context.Context) (int, error) {
	if n, ok := f.base.(lock.HoldCounter); ok {
		return n.HoldCount(ctx)
	}
	return 0, errors.New("gallery: the lock does not count holds")
}

func asked(ctx context.Context, l lock.Locker, a lock.Acquire, forever bool) (lock.Grant, error) {
	opts := []lock.AcquireOption{lock.Lease(a.Lease), lock.Wait(a.Wait)}
	if forever {
		return l.Lock(ctx, opts...)
	}
	return l.TryLock(ctx, opts...)
}

// asking is the base, whose acquires ask for something else.
func asking(change func(a *lock.Acquire, forever *bool)) opening {
	return faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			change(&a, &forever)
			return asked(ctx, f.base, a, forever)
		}
	})
}

// granting is the base, whose acquires answer something else.
func granting(change func(a lock.Acquire, g lock.Grant, err error) (lock.Grant, error)) opening {
	return faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			return change(a, g, err)
		}
	})
}

// releasing is the base, whose releases answer something else.
func releasing(change func(n int, err error) (int, error)) opening {
	return faced(func(f *face) {
		f.unlock = func(ctx context.Context) (int, error) { return change(f.base.Unlock(ctx)) }
	})
}

// faced is the base behind a face. mask is called once for each locker, to
// replace some of its functions.
func faced(mask func(f *face)) opening {
	return func(p Process) (Locks, error) {
		base, err := p.Base(p.Clients)
		return masked{base, mask}, err
	}
}

type masked struct {
	Locks
	mask func(f *face)
}

// Locker implements [Locks].
func (m masked) Locker(name, thread string) lock.Locker {
	f := &face{base: m.Locks.Locker(name, thread)}
	m.mask(f)
	return f
}

// as replaces err when it is one that is asked about.
func as(err error, is func(error) bool, by error) error {
	if err != nil && is(err) {
		return by
	}
	return err
}

func isUnknown(err error) bool { return errors.Is(err, lock.ErrUnknown) }

// isGone reports whether an unlock found nothing to release.
func isGone(err error) bool {
	return errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrNotHeld)
}
