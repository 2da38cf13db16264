package textbook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type semaphoreQuorum struct {
	Spin
	members []*semaphoreZSet
}

// NewSemaphoreQuorum is [NewSemaphoreZSet] on each of several servers. An owner asks all of
// them at once, and has a permit if most of them grant one. So is RedlockSemaphore of
// redis-semaphore for Node.js.
//
// Its mistake: two majorities meet in a server, and a server has room for as many owners as
// the semaphore. Of two permits on three servers, three owners can have two servers each,
// without any fault. In general n servers with p permits each let n*p/q owners in, when an
// owner needs q of them.
func NewSemaphoreQuorum(clients []redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &semaphoreQuorum{Spin: NewSpin(nil, name, owner, o)}
	for _, rdb := range clients {
		l.members = append(l.members, NewSemaphoreZSet(rdb, name, owner, o).(*semaphoreZSet))
	}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		sent := time.Now()
		granted, err := l.each(func(m *semaphoreZSet) (bool, error) { return m.Take(ctx, lease) })
		if granted > len(l.members)/2 && time.Since(sent) < lease {
			return true, nil
		}
		// Without an answer the lease ends it.
		_, _ = l.each(leaveZSet(ctx))
		return false, err
	}
	return l
}

// leaveZSet gives back what one server has.
func leaveZSet(ctx context.Context) func(*semaphoreZSet) (bool, error) {
	return func(m *semaphoreZSet) (bool, error) {
		_, err := m.Unlock(ctx)
		return true, err
	}
}

// each asks all servers at once. It returns how many agreed, and the error of one that
// failed, first one that leaves the outcome open.
func (l *semaphoreQuorum) each(ask func(*semaphoreZSet) (bool, error)) (agreed int, err error) {
	answers, errs := make([]bool, len(l.members)), make([]error, len(l.members))
	var all sync.WaitGroup
	for i, m := range l.members {
		all.Go(func() { answers[i], errs[i] = ask(m) })
	}
	all.Wait()
	for i, ok := range answers {
		switch {
		case errs[i] != nil:
			if !errors.Is(err, lock.ErrUnknown) {
				err = errs[i]
			}
		case ok:
			agreed++
		}
	}
	return agreed, err
}

// Unlock returns ErrNotHeld when the lease of the permit is over on most servers.
func (l *semaphoreQuorum) Unlock(ctx context.Context) (int, error) {
	released, err := l.each(leaveZSet(ctx))
	if released > len(l.members)/2 {
		return 0, nil
	}
	return 0, err
}
