package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
)

// atOnce is the wait of an acquire that is not to wait: time for a request.
const atOnce = 50 * time.Millisecond

// Funcs makes one owner's view of a lock out of functions. Acquire and Release are
// required. The context of an acquire ends when its wait is over. If the lock does not
// claim to wait, the context has no deadline. An owner calls Release only after it was
// granted the lock. It implements [lock.Locker] and [lock.LostNotifier].
type Funcs struct {
	// Acquire acquires the lock. If the lock claims to wait, Acquire waits
	// until ctx ends. AcquireFor does the same with a lease that nothing
	// renews; Claims.Explicit requires it.
	Acquire    func(ctx context.Context) error
	AcquireFor func(ctx context.Context, lease time.Duration) error
	// Try makes a single attempt with the usual lease. Without it, and for a
	// lease of its own, Holdfast calls Acquire or AcquireFor with a wait of 50 ms.
	Try func(ctx context.Context) error
	// Release releases one hold.
	Release func(ctx context.Context) error
	// AcquireShared, AcquireSharedFor and ReleaseShared are for readers, as Acquire,
	// AcquireFor and Release are for writers; Claims.ReadWrite requires them.
	AcquireShared    func(ctx context.Context) error
	AcquireSharedFor func(ctx context.Context, lease time.Duration) error
	ReleaseShared    func(ctx context.Context) error
	// AcquirePermits, AcquirePermitsFor and ReleasePermits take n permits of a semaphore at
	// once, all of them or none, and give them back; Claims.Weighted requires them.
	AcquirePermits    func(ctx context.Context, n int) error
	AcquirePermitsFor func(ctx context.Context, n int, lease time.Duration) error
	ReleasePermits    func(ctx context.Context, n int) error
	// Extend makes the hold last for a lease from now on; Claims.Extends requires
	// it. An error that is Lock.NotHeld or Lock.Lost means that the hold is gone,
	// and any other that it lasts as long as before, or longer. The lease is
	// never shorter than that of the hold. After it, Holdfast calls Until again.
	Extend func(ctx context.Context, lease time.Duration) error
	// Holder returns the owner string of the holder, or "" if the lock is free;
	// Claims.Observes requires it. The owner that asks never holds the lock.
	Holder func(ctx context.Context) (owner string, err error)
	// Token returns the fencing token of the hold; Claims.Fencing requires it.
	Token func() uint64
	// LostSign returns a channel that is closed when the hold is lost;
	// Claims.LostSign requires it. Holdfast calls it after each grant.
	LostSign func() <-chan struct{}
	// Until returns the end of the hold's validity by this process's clock, if the lock
	// states one. That clock is [Client.Now] if the lock has asked for it, and
	// [time.Now] otherwise. It returns zero for a hold that the lock renews. Holdfast calls it
	// after each grant.
	Until func() time.Time

	once bool // an acquire does not wait anyway

	mu   sync.Mutex
	held int
	lost <-chan struct{}
}

var (
	_ lock.Locker       = (*Funcs)(nil)
	_ lock.LostNotifier = (*Funcs)(nil)
)

func (f *Funcs) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return f.acquire(ctx, lock.NewAcquire(opts).Lease)
}

func (f *Funcs) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	if a.Wait == 0 && f.Try != nil && (a.Lease == 0 || f.AcquireFor == nil) {
		return f.granted(f.Try(ctx))
	}
	if f.once {
		return f.acquire(ctx, a.Lease)
	}
	ctx, cancel := context.WithTimeout(ctx, max(a.Wait, atOnce))
	defer cancel()
	return f.acquire(ctx, a.Lease)
}

func (f *Funcs) acquire(ctx context.Context, lease time.Duration) (lock.Grant, error) {
	var err error
	if lease > 0 && f.AcquireFor != nil {
		err = f.AcquireFor(ctx, lease)
	} else {
		err = f.Acquire(ctx)
	}
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = &waitedError{err}
		}
	}
	return f.granted(err)
}

// of is the view of an owner that takes a share: of a reader, or of several permits. It is f
// itself for any other owner.
func (f *Funcs) of(share history.Share) *Funcs {
	view := &Funcs{Extend: f.Extend, LostSign: f.LostSign, Until: f.Until}
	switch n := share.Permits; {
	case n > 1:
		view.Acquire = func(ctx context.Context) error { return f.AcquirePermits(ctx, n) }
		view.AcquireFor = func(ctx context.Context, lease time.Duration) error { return f.AcquirePermitsFor(ctx, n, lease) }
		view.Release = func(ctx context.Context) error { return f.ReleasePermits(ctx, n) }
	case share.Mode == history.Shared:
		view.Acquire, view.AcquireFor, view.Release = f.AcquireShared, f.AcquireSharedFor, f.ReleaseShared
	default:
		return f
	}
	return view
}

// granted is the result of an acquire.
func (f *Funcs) granted(err error) (lock.Grant, error) {
	if err != nil {
		return lock.Grant{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held++
	g := lock.Grant{Count: f.held}
	if f.Token != nil {
		g.Token = f.Token()
	}
	if f.Until != nil {
		g.Until = f.Until()
	}
	if f.LostSign != nil {
		f.lost = f.LostSign()
	}
	return g, nil
}

func (f *Funcs) Unlock(ctx context.Context) (remaining int, err error) {
	err = f.Release(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.held = max(0, f.held-1)
		return f.held, nil
	case f.held == 1: // who asks for the last hold and hears nothing begins anew
		f.held = 0
	}
	return 0, err
}

// dropped says that the owner holds nothing any more.
func (f *Funcs) dropped() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = 0
}

func (f *Funcs) Lost() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// waitedError says that an acquire failed after its wait was over.
type waitedError struct{ err error }

func (e *waitedError) Error() string { return e.err.Error() }
func (e *waitedError) Unwrap() error { return e.err }
