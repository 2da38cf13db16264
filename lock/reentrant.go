package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Reentrant is one owner's view of one lock; make it with [Client.NewLock].
//
// Its key is a hash from "<client id>:<owner>" to the hold count, and a release
// is published on a channel. Redisson's RLock uses the same format, so the two
// can share a lock.
//
// The watchdog of the client renews a hold without [Lease] until its release. A
// hold with Lease lasts that long. The holds of an owner have one lease: a nested hold
// raises it if its own is longer, and no release shortens it. Once the watchdog renews,
// it does so until the last release.
//
// # Losing a lock
//
// The owner loses its hold when the server says so, or when the lease runs out by the
// owner's clock. That clock starts when the owner sends the last successful acquire or
// renewal, and ends 1% and 2ms early. So it needs no answer from the server. It is the
// monotonic clock, which on Linux stops while a virtual machine is suspended. Guard the
// resource with the fencing token if that can happen.
//
// [Reentrant.Lost] and [Reentrant.Context] notify of a loss. Unlock returns [ErrLost] for
// each hold. Until then an acquire returns it too, because a nested acquire must not take
// a lost hold for held. A lease that was left to run out is forgotten after one timeout of
// the watchdog.
//
// # Unknown outcomes
//
// The lock repeats a request that gets no answer, and the server executes it once; the
// package documentation says how. The lock takes back an acquire without an answer before
// the call returns, or in the background if that is not answered either. If no request
// arrives, the lease bounds the damage, because nothing renews the hold.
//
// You may call Unlock again after an Unlock without an answer.
type Reentrant struct {
	c       *Client
	key     stateKey
	names   names
	invalid error // every call returns it
}

var (
	_ Locker       = (*Reentrant)(nil)
	_ LostNotifier = (*Reentrant)(nil)
	_ HoldCounter  = (*Reentrant)(nil)
)

// NewLock returns owner's view of the lock called name. Views of the same name
// and owner share their holds. NewLock sends no request.
//
// All goroutines that use the same owner can hold the lock at once, because the
// lock is reentrant. To exclude them from each other, use [Client.Acquire].
//
// Every call fails for an empty name, for an owner that is empty or starts with a colon,
// and for a name with unusual braces. Such braces are no hash tag, as in "a}b", so its
// keys could not share a slot of a cluster.
func (c *Client) NewLock(name, owner string) *Reentrant {
	if name != "" {
		name = c.cfg.prefix + name
	}
	l := &Reentrant{c: c, key: stateKey{name: name, owner: owner}}
	switch l.names, l.invalid = newNames(name); {
	case owner == "":
		l.invalid = fmt.Errorf("lock: the owner of %q is empty", name)
	case strings.HasPrefix(owner, callPrefix):
		l.invalid = fmt.Errorf("lock: the owner %q of %q begins with %q, as those of Acquire do", owner, name, callPrefix)
	}
	return l
}

// Lock waits until it gets the lock or ctx ends. If the server fails, it
// returns [ErrUnknown] or [ErrRefused] and the cause.
func (l *Reentrant) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return l.acquire(ctx, opts, true)
}

// TryLock waits for at most [Wait] and then returns [ErrBusy], or [ErrUnknown]
// or [ErrRefused] if the server did not answer. Without Wait it makes one
// attempt, and gives the server the unlock timeout to answer.
func (l *Reentrant) TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return l.acquire(ctx, opts, false)
}

func (l *Reentrant) acquire(ctx context.Context, opts []AcquireOption, forever bool) (Grant, error) {
	s, err := l.enter()
	if err != nil {
		return Grant{}, err
	}
	defer s.leave()
	g, _, err := s.acquire(ctx, NewAcquire(opts), forever)
	return g, err
}

// Unlock releases the innermost hold. It returns [ErrNotHeld], [ErrLost], or [ErrUnknown]
// if the server did not answer within the unlock timeout. After ErrUnknown the client
// goes on with the release, and you may call Unlock again, for the same hold.
func (l *Reentrant) Unlock(ctx context.Context) (remaining int, err error) {
	s, err := l.enter()
	if err != nil {
		return 0, err
	}
	defer s.leave()
	return s.release(ctx)
}

// Extend makes the hold last for at least d from now, and never shortens it. d is at
// least 1ms and at most 100 years. The watchdog goes on to renew a renewed hold. Extend
// returns [ErrNotHeld], [ErrLost], or [ErrUnknown] if the server did not answer: then the
// hold lasts as long as before, or longer.
func (l *Reentrant) Extend(ctx context.Context, d time.Duration) error {
	s, err := l.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	return s.extend(ctx, nil, d)
}

// Remaining returns the time to the end of the current hold without a renewal or
// extension, by the clock of this process. It returns 0 without a hold. It does not ask
// the server.
func (l *Reentrant) Remaining() time.Duration {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if s := l.c.states[l.key]; s != nil && s.isHeld() {
		return remaining(s.cur.until)
	}
	return 0
}

// Lost returns a channel that is closed when the current hold is lost. It is nil while
// nothing is held. After a loss it stays closed until Unlock has returned ErrLost. A
// process that was paused need not wait for a timer: Lost looks at the clock.
func (l *Reentrant) Lost() <-chan struct{} {
	l.c.mu.Lock()
	s := l.c.states[l.key]
	l.c.mu.Unlock()
	if s == nil {
		return nil
	}
	s.expire()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if s.cur == nil {
		return nil
	}
	return s.cur.lost
}

// Context returns a context for work under the current hold. It ends with parent, when
// the hold is lost, with [ErrLost] as its cause, and when it is released, with
// [ErrNotHeld]. Without a hold it has already ended. The lock keeps the context until
// then. For many pieces of work under one hold, give each a parent that ends with it.
func (l *Reentrant) Context(parent context.Context) context.Context {
	l.c.mu.Lock()
	s := l.c.states[l.key]
	l.c.mu.Unlock()
	if s == nil {
		s = &state{c: l.c} // without a hold
	}
	return s.during(parent, nil)
}

// HoldCount asks the server how often this owner holds the lock.
func (l *Reentrant) HoldCount(ctx context.Context) (int, error) {
	return ask(ctx, l, "count holds", func(ctx context.Context, s *state) (int, error) {
		n, err := l.c.rdb.HGet(ctx, s.names.lock, s.field).Int()
		if errors.Is(err, redis.Nil) {
			return 0, nil
		}
		return n, err
	})
}

// IsLocked asks the server whether anybody holds the lock.
func (l *Reentrant) IsLocked(ctx context.Context) (bool, error) {
	return ask(ctx, l, "look at lock", func(ctx context.Context, s *state) (bool, error) {
		n, err := l.c.rdb.Exists(ctx, s.names.lock).Result()
		return n == 1, err
	})
}

// TTL asks the server for the rest of the lease of any owner: 0 if the lock is free,
// negative if it never ends.
func (l *Reentrant) TTL(ctx context.Context) (time.Duration, error) {
	return ask(ctx, l, "read lease", func(ctx context.Context, s *state) (time.Duration, error) {
		// go-redis returns -1 and -2 unscaled, in nanoseconds.
		switch d, err := l.c.rdb.PTTL(ctx, s.names.lock).Result(); {
		case err != nil || d == -2:
			return 0, err
		default:
			return d, nil
		}
	})
}

// ForceUnlock frees the lock of any owner, and reports whether it was held. A holder in
// this client is notified of the loss at once, a holder elsewhere at its next renewal or
// release.
func (l *Reentrant) ForceUnlock(ctx context.Context) (bool, error) {
	s, err := l.enter()
	if err != nil {
		return false, err
	}
	defer s.leave()
	asked := time.Now()
	freed, err := ask(ctx, l, "force lock", func(ctx context.Context, s *state) (bool, error) {
		n, err := l.c.script(forceScript).Run(ctx, l.c.rdb, []string{s.names.lock}, s.names.channel, unlockMessage).Int()
		return n == 1, err
	})
	var refusal redis.Error
	switch {
	case errors.As(err, &refusal):
		return false, errors.Join(err, ErrRefused)
	case err != nil:
		return false, errors.Join(err, ErrUnknown)
	}
	if freed {
		l.c.forced(l.key.name, asked)
	}
	return freed, nil
}

// ask runs a request within ctx that does not change the client's state.
func ask[T any](ctx context.Context, l *Reentrant, what string, f func(context.Context, *state) (T, error)) (T, error) {
	var zero T
	s, err := l.enter()
	if err != nil {
		return zero, err
	}
	defer s.leave()
	op, cancel := l.c.withDone(ctx)
	defer cancel()
	val, err := persist(op, l.c, forever, func(tries int, _ error) bool { return tries > unsentTries }, func(ctx context.Context) (T, error) {
		return call(ctx, l.c, func(ctx context.Context) (T, error) { return f(ctx, s) })
	})
	switch {
	case err == nil:
		return val, nil
	case ctx.Err() != nil:
		return zero, ctx.Err()
	case l.c.life.Err() != nil:
		return zero, ErrClosed
	}
	return zero, fmt.Errorf("%s: %w", what, err)
}
