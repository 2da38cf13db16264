package gallery

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// small is a lock of the gallery's own, in the manner of package textbook. It polls, has
// one command or a few for each thing, and stores the owner in the key.
// It implements [lock.Locker].
type small struct {
	textbook.Spin
	rdb         redis.UniversalClient
	name, owner string

	take func(ctx context.Context, s *small, lease time.Duration) (bool, error)
	give func(ctx context.Context, s *small) (bool, error)
	quit func(s *small) // a wait was given up; nil: nothing to do
}

func (s *small) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return s.quitting(s.Spin.Lock(ctx, opts...))
}

func (s *small) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return s.quitting(s.Spin.TryLock(ctx, opts...))
}

func (s *small) quitting(g lock.Grant, err error) (lock.Grant, error) {
	if err != nil && s.quit != nil {
		s.quit(s)
	}
	return g, err
}

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

// setNX is the acquire of set-px-lua.
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

// compareAndDelete is the release of set-px-lua.
func compareAndDelete(ctx context.Context, s *small) (bool, error) {
	const script = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	n, err := s.rdb.Eval(ctx, script, []string{s.name}, s.owner).Int()
	return n == 1, err
}

// owned is a mutant that is a small lock. build says how it takes and gives.
func owned(build func(s *small)) opening {
	return func(p Process) (Locks, error) { return smallLocks{p, build}, nil }
}

// smallLocks implements [Locks].
type smallLocks struct {
	p     Process
	build func(s *small)
}

func (l smallLocks) Locker(name, thread string) lock.Locker {
	s := &small{rdb: l.p.Clients[0], name: name, owner: l.p.ID + ":" + thread, take: setNX, give: compareAndDelete}
	s.Spin = textbook.NewSpin(s.rdb, name, s.owner, textbook.Options{Lease: l.p.Lease, Poll: l.p.Poll, Rand: l.p.Stream("poll", thread)})
	l.build(s)
	s.Take = func(ctx context.Context, lease time.Duration) (bool, error) { return s.take(ctx, s, lease) }
	return s
}

func (smallLocks) Close() error { return nil }
