package redislock

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// settings are those of a locker.
type settings struct {
	lease   time.Duration // of an acquire that does not say
	backoff time.Duration // between two tries
	rng     *rand.Rand
}

// locker is one owner's view of a lock.
type locker struct {
	rdb  redis.UniversalClient
	name string
	settings

	mu   sync.Mutex
	held *redislock.Lock
}

// Lock implements [lock.Locker]. Without a deadline redislock gives up when a
// lease's time has passed, so it is asked again until ctx ends.
func (l *locker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	lease := lock.NewAcquire(opts).Lease
	for {
		g, err := l.obtain(ctx, ctx, lease, redislock.LinearBackoff(l.backoff))
		if !errors.Is(err, lock.ErrBusy) {
			return g, err
		}
	}
}

// TryLock implements [lock.Locker]. A wait is bounded as redislock's users
// bound it, by a deadline of the context.
func (l *locker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	if a.Wait <= 0 {
		return l.obtain(ctx, ctx, a.Lease, redislock.NoRetry())
	}
	wait, cancel := context.WithTimeout(ctx, a.Wait)
	defer cancel()
	return l.obtain(ctx, wait, a.Lease, redislock.LinearBackoff(l.backoff))
}

// obtain asks for the lock until wait ends, and says what came of it to the
// caller, whose context is ctx.
//
// A wait that is over returns the context's own error, as does a request that was never
// answered; what tells them apart is the last answer of the server.
func (l *locker) obtain(ctx, wait context.Context, lease time.Duration, retry redislock.RetryStrategy) (lock.Grant, error) {
	lease = cmp.Or(lease, l.lease)
	s := &scripter{Scripter: l.rdb}
	held, err := redislock.Obtain(wait, s, l.name, lease, &redislock.Options{RetryStrategy: retry, Token: l.token()})
	switch {
	case err == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = held
		return lock.Grant{Count: 1, Lease: lease}, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return lock.Grant{}, errors.Join(lock.ErrBusy, err)
	case !s.refused:
		return lock.Grant{}, errors.Join(lock.ErrUnknown, err)
	case ctx.Err() != nil:
		return lock.Grant{}, ctx.Err()
	}
	return lock.Grant{}, errors.Join(lock.ErrBusy, err)
}

// token draws a token as redislock does, from a source of this run. Each
// acquire has one of its own: redislock takes the same token for the same hold.
func (l *locker) token() string {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:8], l.rng.Uint64())
	binary.NativeEndian.PutUint64(b[8:], l.rng.Uint64())
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Unlock implements [lock.Locker]. redislock gives up when ctx has ended.
func (l *locker) Unlock(ctx context.Context) (int, error) {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	err := held.Release(ctx) // of nil, too, it says that nothing is held
	switch {
	case errors.Is(err, redislock.ErrLockNotHeld):
		err = errors.Join(lock.ErrNotHeld, err)
	case err != nil:
		return 0, errors.Join(lock.ErrUnknown, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = nil
	return 0, err
}

// Extend implements [lock.Extender] with Refresh. It sets the lease anew, and does not ask
// how long the hold would have lasted.
func (l *locker) Extend(ctx context.Context, d time.Duration) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil {
		return lock.ErrNotHeld
	}
	switch err := held.Refresh(ctx, d, nil); {
	case errors.Is(err, redislock.ErrNotObtained):
		return errors.Join(lock.ErrLost, err)
	case err != nil:
		return errors.Join(lock.ErrUnknown, err)
	}
	return nil
}

// scripter notes whether the last request was answered with a refusal.
type scripter struct {
	redis.Scripter
	refused bool
}

func (s *scripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.note(s.Scripter.EvalSha(ctx, sha, keys, args...))
}

func (s *scripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.note(s.Scripter.Eval(ctx, script, keys, args...))
}

func (s *scripter) note(c *redis.Cmd) *redis.Cmd {
	s.refused = errors.Is(c.Err(), redis.Nil)
	return c
}
