package redsync

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/holdfast-go/holdfast/lock"
)

// The time that redsync waits between two tries by default, in whole milliseconds.
const (
	minDelay = 50
	maxDelay = 250
)

// settings are those of a locker.
type settings struct {
	lease  time.Duration // of an acquire that does not say
	quorum int
	rng    *rand.Rand
	scaled func(time.Duration) time.Duration
}

// locker is one owner's view of a lock.
type locker struct {
	rs   *redsync.Redsync
	name string
	settings

	mu   sync.Mutex
	held *redsync.Mutex
}

// Lock implements [lock.Locker].
func (l *locker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	m, lease := l.mutex(lock.NewAcquire(opts).Lease)
	return l.granted(ctx, m, lease, m.LockContext(ctx))
}

// TryLock implements [lock.Locker]. A wait is bounded as redsync's users bound
// it, by a deadline of the context.
func (l *locker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	m, lease := l.mutex(a.Lease)
	if a.Wait <= 0 {
		return l.granted(ctx, m, lease, m.TryLockContext(ctx))
	}
	wait, cancel := context.WithTimeout(ctx, a.Wait)
	defer cancel()
	return l.granted(ctx, m, lease, m.LockContext(wait))
}

// mutex makes the mutex of one acquire. Its settings are redsync's own, but for three.
// The delays between tries and the values are drawn as redsync draws them, from a source
// of this run. And 32 tries, its default, are over after five seconds: a user who wants
// to wait for longer asks for more.
func (l *locker) mutex(lease time.Duration) (*redsync.Mutex, time.Duration) {
	lease = cmp.Or(lease, l.lease)
	return l.rs.NewMutex(l.name,
		redsync.WithExpiry(lease),
		redsync.WithTries(math.MaxInt),
		redsync.WithRetryDelayFunc(l.delay),
		redsync.WithGenValueFunc(l.value),
	), lease
}

func (l *locker) delay(int) time.Duration {
	return l.scaled(time.Duration(minDelay+l.rng.IntN(maxDelay-minDelay)) * time.Millisecond)
}

func (l *locker) value() (string, error) {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:8], l.rng.Uint64())
	binary.NativeEndian.PutUint64(b[8:], l.rng.Uint64())
	return base64.StdEncoding.EncodeToString(b[:]), nil
}

// granted keeps the mutex of an acquire that succeeded, and says what the error
// of any other means.
//
// ErrFailed is all that redsync says of a wait that was cut short, whatever the
// last try had met: that the lock was not taken.
func (l *locker) granted(ctx context.Context, m *redsync.Mutex, lease time.Duration, err error) (lock.Grant, error) {
	var none *redsync.RedisError
	switch {
	case err == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = m
		return lock.Grant{Count: 1, Lease: lease}, nil
	case errors.Is(err, redsync.ErrFailed) && ctx.Err() != nil:
		return lock.Grant{}, errors.Join(err, ctx.Err())
	case refused(err) < l.quorum && errors.As(err, &none):
		return lock.Grant{}, errors.Join(lock.ErrUnknown, err)
	}
	return lock.Grant{}, errors.Join(lock.ErrBusy, err)
}

// Unlock implements [lock.Locker]. redsync gives up when ctx has ended.
//
// The error for a value that is gone is "already expired" when no other owner has the
// key, and "already taken" when one has. Both mean that this owner held nothing when the
// server was asked.
func (l *locker) Unlock(ctx context.Context) (int, error) {
	l.mu.Lock()
	m := l.held
	l.mu.Unlock()
	if m == nil {
		return 0, lock.ErrNotHeld
	}
	ok, err := m.UnlockContext(ctx)
	switch {
	case ok:
		err = nil // of a minority of the nodes
	case refused(err) >= l.quorum:
		err = errors.Join(lock.ErrNotHeld, err)
	default:
		return 0, errors.Join(lock.ErrUnknown, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = nil
	return 0, err
}

// refused counts the nodes that answered, and said that the key has no value
// of the caller's.
func refused(err error) int {
	if err == redsync.ErrLockAlreadyExpired {
		return 1
	}
	switch e := err.(type) {
	case *redsync.ErrTaken:
		return len(e.Nodes)
	case *redsync.ErrNodeTaken:
		return 1
	case interface{ Unwrap() []error }:
		n := 0
		for _, err := range e.Unwrap() {
			n += refused(err)
		}
		return n
	}
	return 0
}
