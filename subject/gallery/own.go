package gallery

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// small is a lock of the gallery's own, in the manner of package textbook: it
// polls, has one command or a few for each thing, and stores the owner in the
// key.
type small struct {
	rdb         redis.UniversalClient
	name, owner string
	lease, poll time.Duration
	rand        *rand.Rand

	take func(ctx context.Context, s *small, lease time.Duration) (bool, error)
	give func(ctx context.Context, s *small) (bool, error)
	quit func(s *small) // a wait was given up; nil: nothing to do
}

// smallPoll is how long a small lock goes without looking by default.
const smallPoll = 100 * time.Millisecond

// Lock implements [lock.Locker].
func (s *small) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return s.acquire(ctx, lock.NewAcquire(opts), true)
}

// TryLock implements [lock.Locker].
func (s *small) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return s.acquire(ctx, lock.NewAcquire(opts), false)
}

func (s *small) acquire(ctx context.Context, a lock.Acquire, forever bool) (g lock.Grant, err error) {
	lease := a.Lease
	if lease == 0 {
		lease = s.lease
	}
	defer func() {
		if err != nil && s.quit != nil {
			s.quit(s)
		}
	}()
	end := time.Now().Add(a.Wait)
	for {
		if err := ctx.Err(); err != nil {
			return g, err
		}
		switch ok, err := s.take(ctx, s, lease); {
		case err != nil:
			return g, errors.Join(ctx.Err(), lock.ErrUnknown, err)
		case ok:
			return lock.Grant{Count: 1, Lease: lease}, nil
		}
		pause := s.poll - time.Duration(s.rand.Int64N(int64(s.poll)/2+1))
		if !forever {
			left := time.Until(end)
			if left <= 0 {
				return g, lock.ErrBusy
			}
			pause = min(pause, left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return g, ctx.Err()
		}
	}
}

// Unlock implements [lock.Locker].
func (s *small) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	switch ok, err := s.give(ctx, s); {
	case err != nil:
		return 0, errors.Join(ctx.Err(), lock.ErrUnknown, err)
	case !ok:
		return 0, lock.ErrNotHeld
	}
	return 0, nil
}

// setNX is what set-px-lua takes the lock with.
func setNX(ctx context.Context, s *small, lease time.Duration) (bool, error) {
	return isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "nx", "px", lease.Milliseconds()))
}

// isOK reads the answer nil, "not set", as false.
func isOK(cmd *redis.Cmd) (bool, error) {
	if errors.Is(cmd.Err(), redis.Nil) {
		return false, nil
	}
	return cmd.Err() == nil, cmd.Err()
}

// compareAndDelete is what set-px-lua gives the lock back with.
func compareAndDelete(ctx context.Context, s *small) (bool, error) {
	return evalTrue(ctx, s, `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`, s.owner)
}

func evalTrue(ctx context.Context, s *small, script string, args ...any) (bool, error) {
	n, err := s.rdb.Eval(ctx, script, []string{s.name}, args...).Int()
	return n == 1, err
}

// owned is a mutant that is a small lock. build says how it takes and gives.
func owned(build func(s *small)) opening {
	return func(p Process) (Locks, error) { return smallLocks{p, build}, nil }
}

// smallLocks makes the small locks of a process.
type smallLocks struct {
	p     Process
	build func(s *small)
}

// Locker implements [Locks].
func (l smallLocks) Locker(name, thread string) lock.Locker {
	s := &small{
		rdb: l.p.Clients[0], name: name, owner: l.p.ID + ":" + thread, lease: l.p.Lease, poll: l.p.Poll,
		rand: l.p.Stream("poll", thread), take: setNX, give: compareAndDelete,
	}
	if s.poll == 0 {
		s.poll = smallPoll
	}
	l.build(s)
	return s
}

// Close implements [Locks].
func (smallLocks) Close() error { return nil }
