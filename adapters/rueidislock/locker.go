package rueidislock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/lock"
)

// locker is one owner's view of a lock.
type locker struct {
	client rueidislock.Locker
	name   string
	lease  time.Duration

	mu   sync.Mutex
	held *hold
}

// hold is the result of an acquire.
type hold struct {
	ctx     context.Context // ends when the hold is lost
	release context.CancelFunc
}

var (
	_ lock.Locker       = (*locker)(nil)
	_ lock.LostNotifier = (*locker)(nil)
)

// Lock implements [lock.Locker].
func (l *locker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.acquire(ctx, lock.NewAcquire(opts), l.client.WithContext)
}

// TryLock implements [lock.Locker].
func (l *locker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	if a.Wait <= 0 {
		return l.acquire(ctx, a, l.client.TryWithContext)
	}
	return l.acquire(ctx, a, l.client.WithContext)
}

type acquire func(context.Context, string) (context.Context, context.CancelFunc, error)

// errWaited ends the context of an acquire whose wait is over.
var errWaited = errors.New("the wait is over")

// acquire takes the lock. The context that rueidislock gets is that of the hold, not of
// the call alone. A deadline in it would end the hold, and shorten the lease from the
// start. So a wait is bounded by cancelling it, for as long as nothing is held.
func (l *locker) acquire(ctx context.Context, a lock.Acquire, take acquire) (lock.Grant, error) {
	if a.Lease != 0 {
		return lock.Grant{}, errors.ErrUnsupported
	}
	hold, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := []func() bool{context.AfterFunc(ctx, func() { cancel(ctx.Err()) })}
	if a.Wait > 0 {
		stop = append(stop, time.AfterFunc(a.Wait, func() { cancel(errWaited) }).Stop)
	}
	held, release, err := take(hold, l.name)
	for _, s := range stop {
		if !s() { // its function runs, and ends the hold
			<-hold.Done()
		}
	}
	if err == nil && context.Cause(hold) != nil { // cancelled in the moment of the grant
		release()
		err = context.Cause(hold)
	}
	if err != nil {
		defer cancel(nil)
		return lock.Grant{}, refusal(err, context.Cause(hold))
	}
	l.keep(held, func() { release(); cancel(nil) })
	return lock.Grant{Count: 1, Lease: l.lease, Renewed: true}, nil
}

// refusal says what the error of an acquire means. rueidislock has taken back
// by then what it may have taken, or tried to.
func refusal(err, why error) error {
	switch {
	case errors.Is(err, rueidislock.ErrLockerClosed):
		return errors.Join(lock.ErrClosed, err)
	case errors.Is(why, errWaited):
		return errors.Join(lock.ErrBusy, err)
	case why != nil:
		return errors.Join(why, err)
	case errors.Is(err, rueidislock.ErrNotLocked):
		return errors.Join(lock.ErrBusy, err)
	}
	return errors.Join(lock.ErrUnknown, err)
}

func (l *locker) keep(ctx context.Context, release context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = &hold{ctx, release}
}

// Unlock implements [lock.Locker]. The function that releases a hold returns
// when the server has been asked, and does not say what it answered; it has a
// timeout of its own and heeds no context.
func (l *locker) Unlock(context.Context) (int, error) {
	l.mu.Lock()
	h := l.held
	l.held = nil
	l.mu.Unlock()
	if h == nil {
		return 0, lock.ErrNotHeld
	}
	lost := h.ctx.Err() != nil
	h.release()
	if lost {
		return 0, lock.ErrLost
	}
	return 0, nil
}

// Lost implements [lock.LostNotifier].
func (l *locker) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return nil
	}
	return l.held.ctx.Done()
}
