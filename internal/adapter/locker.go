package adapter

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
)

// Locker is one owner's view of a lock in a client process. When the context of a call
// ends, the process gets a cancel request, and the call returns the outcome that the
// process reports. It returns no sooner, unless the process ends, which leaves the
// outcome unknown. The times in settings are real ones.
// It implements [lock.Locker].
type Locker struct {
	c            *Conversation
	name, thread string
	share        history.Share
	holds        *holds
}

var (
	_ lock.Locker       = (*Locker)(nil)
	_ lock.LostNotifier = (*Locker)(nil)
	_ lock.HoldCounter  = (*Locker)(nil)
)

// Locker returns an owner's view of a lock. Nothing is asked of the process yet. It has
// the owner's holds of every Locker.
func (c *Conversation) Locker(name, thread string) *Locker {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{name, thread}
	if c.owners[key] == nil {
		c.owners[key] = &holds{known: map[int64]*remoteHold{}}
	}
	return &Locker{c: c, name: name, thread: thread, holds: c.owners[key]}
}

// ShareLocker is [Conversation.Locker] for an owner that takes this share of the lock.
func (c *Conversation) ShareLocker(name, thread string, share history.Share) *Locker {
	l := c.Locker(name, thread)
	l.share = share
	return l
}

func (l *Locker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.acquire(ctx, -1, lock.NewAcquire(opts).Lease)
}

func (l *Locker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	return l.acquire(ctx, max(0, a.Wait), a.Lease)
}

func (l *Locker) acquire(ctx context.Context, wait, lease time.Duration) (lock.Grant, error) {
	a, err := l.operate(ctx, request{Do: doAcquire, WaitNS: wait.Nanoseconds(), LeaseNS: lease.Nanoseconds()})
	if err != nil {
		return lock.Grant{}, err
	}
	return lock.Grant{Count: a.Count, Token: a.Token, Lease: time.Duration(a.LeaseNS), Renewed: a.Renewed, Until: a.until()}, nil
}

// until is the end of the validity that a grant names. The reply may have been under way
// for a while. The rest counts from the request on, and the time that the process took is
// added.
func (a reply) until() time.Time {
	switch {
	case a.ValidNS == 0:
		return time.Time{}
	case a.EndedNS <= 0:
		return time.Now().Add(time.Duration(a.ValidNS))
	}
	return a.sent.Add(time.Duration(a.EndedNS - a.BeganNS + a.ValidNS))
}

func (l *Locker) Unlock(ctx context.Context) (remaining int, err error) {
	a, err := l.operate(ctx, request{Do: doRelease})
	if err != nil {
		return 0, err
	}
	return a.Count, nil
}

// Extend makes the hold last lease from now on. It is errors.ErrUnsupported
// where the lock has no such operation.
func (l *Locker) Extend(ctx context.Context, lease time.Duration) error {
	_, err := l.operate(ctx, request{Do: doExtend, LeaseNS: lease.Nanoseconds()})
	return err
}

// Holder asks who holds the lock; see [locks.Observer].
func (l *Locker) Holder(ctx context.Context) (string, error) {
	a, err := l.operate(ctx, request{Do: doObserve})
	return a.Holder, err
}

// HoldCount implements [lock.HoldCounter]. It is errors.ErrUnsupported where
// the lock does not.
func (l *Locker) HoldCount(ctx context.Context) (int, error) {
	a, err := l.operate(ctx, request{Do: doState})
	return a.Count, err
}

// Lost implements [lock.LostNotifier]. The channel of a lock that reports no loss is
// never closed.
func (l *Locker) Lost() <-chan struct{} {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.holds.current == nil {
		return nil
	}
	return l.holds.current.lost
}

// Settle returns when every loss that the process has learned of by now has arrived here:
// Lost is closed where it has to be. It asks no server. It is for the moment after a
// pause.
func (l *Locker) Settle(ctx context.Context) error {
	k, err := l.c.send(request{Do: doSettle, Lock: l.name, Thread: l.thread}, l.holds)
	if err != nil {
		return err
	}
	_, err = l.c.await(ctx, k)
	return err
}

func (l *Locker) operate(ctx context.Context, r request) (reply, error) {
	r.Lock, r.Thread, r.Share = l.name, l.thread, l.share
	return l.c.operate(ctx, r, l.holds)
}
