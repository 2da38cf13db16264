package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast/lock"
)

// owner is one owner's view of one lock: a session of its own, and a Mutex or an
// Election for every hold. One operation is under way at a time; Lost may be asked any time.
type owner struct {
	of           *mutexes
	name, thread string
	shared       bool // it is a reader

	mu      sync.Mutex
	session *concurrency.Session // nil while there is none that lives
	held    *hold                // nil while nothing is held
}

// hold is a contest that has been won, in the session that keeps it.
type hold struct {
	session *concurrency.Session
	contest contest
}

// errOver ends a wait that has lasted as long as it may.
var errOver = errors.New("the wait is over")

// Lock implements [lock.Locker].
func (o *owner) Lock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	return o.acquire(ctx, contest.Lock)
}

// TryLock implements [lock.Locker].
func (o *owner) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	wait := lock.NewAcquire(opts).Wait
	if wait > 0 {
		ctx, cancel := context.WithTimeoutCause(ctx, wait, errOver)
		defer cancel()
		return o.acquire(ctx, contest.Lock)
	}
	ctx, cancel := context.WithTimeout(ctx, o.of.timeout)
	defer cancel()
	return o.acquire(ctx, contest.TryLock)
}

// acquire takes the lock. A session that has ended meanwhile is replaced, as
// everybody who uses one has to.
func (o *owner) acquire(ctx context.Context, take func(contest, context.Context) error) (lock.Grant, error) {
	ctx = clientv3.WithRequireLeader(ctx)
	for {
		if o.of.closed() {
			return lock.Grant{}, lock.ErrClosed
		}
		s, err := o.living(ctx)
		if err != nil {
			return lock.Grant{}, fmt.Errorf("open a session: %w", errors.Join(lock.ErrUnknown, err))
		}
		m := o.of.contest(s, o)
		if err = take(m, ctx); err == nil {
			err = o.renew(ctx, s)
		}
		if err == nil {
			return o.granted(&hold{s, m}), nil
		}
		if ctx.Err() == nil && (errors.Is(err, concurrency.ErrSessionExpired) || errors.Is(err, rpctypes.ErrLeaseNotFound)) {
			o.endSession()
			continue
		}
		if leaderless(err) && rest(ctx) {
			continue // in its old place, or at the end of the queue
		}
		return lock.Grant{}, o.refused(ctx, m, err)
	}
}

// renew lets the lease of a session begin anew. It is the session's and not the hold's.
// When a hold begins, it may have run for a third of its time, and for half a second; a
// hold is to last as long as it was asked for. A session that has ended may
// win a campaign, or be let in by an RWMutex.
func (o *owner) renew(ctx context.Context, s *concurrency.Session) error {
	return insist(ctx, func() error {
		_, err := o.of.client.KeepAliveOnce(ctx, s.Lease())
		if (o.of.elects() || o.of.kind == both) && errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		return err
	})
}

// living is the owner's session, a new one where the last has ended.
func (o *owner) living(ctx context.Context) (*concurrency.Session, error) {
	o.mu.Lock()
	s := o.session
	o.mu.Unlock()
	if s != nil {
		select {
		case <-s.Done():
		default:
			return s, nil
		}
	}
	s, err := o.of.newSession(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.session = s
	return s, nil
}

func (o *owner) granted(h *hold) lock.Grant {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = h
	g := lock.Grant{Count: 1, Lease: time.Duration(o.of.ttl) * time.Second, Renewed: true}
	if o.of.kind != plain && o.of.kind != both {
		g.Token = uint64(h.contest.Header().Revision)
	}
	return g
}

// refused says what has become of an acquire that was not granted. Where its
// key may have stayed, the session is ended, or it would be kept for ever.
func (o *owner) refused(ctx context.Context, m contest, err error) error {
	over := context.Cause(ctx)
	switch {
	case !m.takenBack():
		o.endSession()
		return unclear(ctx, err)
	case errors.Is(err, concurrency.ErrLocked), errors.Is(over, errOver):
		return fmt.Errorf("%w: %w", lock.ErrBusy, err)
	case over != nil:
		return over
	}
	return unclear(ctx, err)
}

// unclear is the error of a request that may have been carried out.
func unclear(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.Join(lock.ErrUnknown, context.Canceled, err)
	}
	return fmt.Errorf("%w: %v", lock.ErrUnknown, err) // a deadline of its own is no cancel by a caller
}

// Unlock implements [lock.Locker]. The Mutex itself does not look whether there was
// anything to delete; the session sees it, once it has noticed.
func (o *owner) Unlock(ctx context.Context) (int, error) {
	o.mu.Lock()
	h := o.held
	o.held = nil
	o.mu.Unlock()
	if h == nil {
		return 0, lock.ErrNotHeld
	}
	select {
	case <-h.session.Done():
		return 0, lock.ErrLost
	default:
	}
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), o.of.timeout)
	defer cancel()
	if err := insist(ctx, func() error { return h.contest.Unlock(ctx) }); err != nil {
		o.endSession() // which would keep the hold
		return 0, unclear(ctx, err)
	}
	return 0, nil
}

// HoldCount implements [lock.HoldCounter].
func (o *owner) HoldCount(ctx context.Context) (int, error) {
	o.mu.Lock()
	h := o.held
	o.mu.Unlock()
	if h == nil {
		return 0, nil
	}
	if o.of.kind == both {
		return 1, nil // what its owner believes
	}
	ctx, cancel := context.WithTimeout(ctx, o.of.timeout)
	defer cancel()
	resp, err := o.of.client.Txn(ctx).If(h.contest.IsOwner()).Then(clientv3.OpGet(h.contest.Key(), clientv3.WithCountOnly())).Commit()
	switch {
	case err != nil:
		return 0, unclear(ctx, err)
	case resp.Succeeded:
		return 1, nil
	}
	return 0, nil
}

// Lost implements [lock.LostNotifier].
func (o *owner) Lost() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return nil
	}
	return o.held.session.Done()
}

// endSession ends the session, if there is one.
func (o *owner) endSession() {
	o.mu.Lock()
	s := o.session
	o.session = nil
	o.mu.Unlock()
	if s != nil {
		o.of.end(s)
	}
}
