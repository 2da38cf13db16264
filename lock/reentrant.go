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
// Its key is a hash from "<client id>:<owner>" to the hold count, and a
// release is announced on a channel, both as Redisson's RLock does it, so the
// two can share a lock.
//
// A hold without [Lease] is renewed by the client's watchdog until it is
// released. A hold with one lasts that long. Nested holds never shorten what
// an outer one is owed, and the lock lasts as long as the longest of them;
// a renewed hold keeps its renewal when an inner hold with a lease ends.
//
// # Losing a lock
//
// The owner takes its hold as lost when the server says so, or when the lease
// has run out by its own clock, counted from the moment the last successful
// acquire or renewal was sent, less 1% and 2ms. That needs no answer from the
// server. Its clock is the monotonic one, which on Linux stands still while a
// virtual machine is suspended: who may be suspended guards the resource with
// the fencing token. [Reentrant.Lost] and [Reentrant.Context] tell; the next Unlock
// returns [ErrLost], once for all holds. Until then an acquire returns it, too:
// who acquires within a lost hold must not take it for held.
//
// # Unknown outcomes
//
// Every request carries a serial and the hold that it is about, and the server
// remembers the last request of each owner until ten seconds after the hold. So
// one that the network or the Redis client repeats has one effect, and one that
// arrives after a later request of its owner has none. What is left: an acquire
// that arrives when it was given up, nobody has the lock, and the server has
// forgotten its owner, takes the lock for one lease, without renewal. An
// acquire without an answer is taken back before the call returns, or in the
// background if that is not answered either; if nothing arrives the lease
// bounds the damage, as the hold is not renewed. An Unlock without an answer
// may be called again.
type Reentrant struct {
	c       *Client
	key     stateKey
	names   names
	invalid error // what every call returns
}

var (
	_ Locker       = (*Reentrant)(nil)
	_ LostNotifier = (*Reentrant)(nil)
	_ HoldCounter  = (*Reentrant)(nil)
)

// NewLock returns owner's view of the lock called name. Views of the same name
// and owner share their holds. It does nothing on the server.
//
// An owner with a constant name lets every goroutine that uses it in: that is what
// reentrant means. Where each call is to be an owner, take [Client.Acquire].
//
// Calls fail for an empty name, for an owner that is empty or begins with a colon,
// and for a name with braces that are no hash tag, as "a}b": its keys could not
// share a slot of a cluster.
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

// Name returns the key of the lock, prefix included.
func (l *Reentrant) Name() string { return l.key.name }

// Owner returns the owner of this view.
func (l *Reentrant) Owner() string { return l.key.owner }

// Lock waits until the lock is granted or ctx ends. It returns sooner when the
// server fails: [ErrUnknown] or [ErrRefused] and the cause.
func (l *Reentrant) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return l.acquire(ctx, opts, true)
}

// TryLock waits at most as long as [Wait] says and then returns [ErrBusy], or
// [ErrUnknown] or [ErrRefused] when the server did not answer. Without Wait it asks once, and
// gives the server as long as an unlock to answer.
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

// Unlock gives the innermost hold back. It returns [ErrNotHeld], [ErrLost], or
// [ErrUnknown] when the server did not answer within the unlock timeout; the
// hold is then no longer renewed, and Unlock may be called again.
func (l *Reentrant) Unlock(ctx context.Context) (remaining int, err error) {
	s, err := l.enter()
	if err != nil {
		return 0, err
	}
	defer s.leave()
	return s.release(ctx, 0)
}

// Extend makes the hold last until d from now at least; it never shortens it. A
// hold that is renewed stays so. It returns [ErrNotHeld], [ErrLost], or
// [ErrUnknown] when the server did not answer: then the hold lasts as long as
// before, or longer.
func (l *Reentrant) Extend(ctx context.Context, d time.Duration) error {
	s, err := l.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	return s.extend(ctx, d)
}

// Remaining returns how much of the current hold is left unless it is renewed or
// extended, by the clock of this process, and 0 without a hold. It does not ask
// the server.
func (l *Reentrant) Remaining() time.Duration {
	l.c.mu.Lock()
	s := l.c.states[l.key]
	l.c.mu.Unlock()
	if s == nil {
		return 0
	}
	return remaining(s.validity(nil))
}

// unlockAlso gives levels more holds back, besides those whose release was not
// answered. It does nothing when that makes none.
func (l *Reentrant) unlockAlso(ctx context.Context, levels int) (remaining int, err error) {
	s, err := l.enter()
	if err != nil {
		return 0, err
	}
	defer s.leave()
	l.c.mu.Lock()
	n, open := len(s.holds), s.giving.levels
	l.c.mu.Unlock()
	if levels+open == 0 {
		return n, nil
	}
	return s.release(ctx, levels)
}

// stopRenewing leaves the owner's holds to their leases, unless there are more of
// them than levels. Those that are being released do not count.
func (l *Reentrant) stopRenewing(levels int) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if s := l.c.states[l.key]; s != nil {
		s.stopRenewing(levels)
	}
}

// Lost returns a channel that is closed when the current hold is lost. It is
// nil while nothing is held. After a loss it stays closed until Unlock has
// said so.
func (l *Reentrant) Lost() <-chan struct{} {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if s := l.c.states[l.key]; s != nil && s.cur != nil {
		return s.cur.lost
	}
	return nil
}

// Token returns the fencing token of the current hold, 0 without one.
func (l *Reentrant) Token() uint64 {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if s := l.c.states[l.key]; s != nil && s.cur != nil && !s.lost {
		return s.cur.token
	}
	return 0
}

// Context returns a context for work under the current hold. It ends with
// parent, when the hold is lost, with [ErrLost] as its cause, and when it is
// released, with [ErrNotHeld]. Without a hold it has ended already. The lock
// keeps it until then; where many pieces of work are done under one hold, take
// [Reentrant.ContextWithCancel].
func (l *Reentrant) Context(parent context.Context) context.Context {
	ctx, _ := l.ContextWithCancel(parent)
	return ctx
}

// ContextWithCancel is [Reentrant.Context] with a function that ends the context
// when its work is done. After that the lock keeps nothing of it.
func (l *Reentrant) ContextWithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	end := func() { cancel(context.Canceled) }
	remove, cause := l.onEnd(cancel)
	if cause != nil {
		cancel(cause)
		return ctx, end
	}
	context.AfterFunc(ctx, remove)
	return ctx, end
}

// onEnd registers f for the end of the current hold.
func (l *Reentrant) onEnd(f func(cause error)) (remove func(), cause error) {
	l.c.mu.Lock()
	s := l.c.states[l.key]
	l.c.mu.Unlock()
	if s == nil {
		return nil, ErrNotHeld
	}
	return s.onEnd(nil, f)
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

// TTL asks the server how long the lock lasts unless renewed, whoever holds
// it: 0 when it is free, negative when it never ends.
func (l *Reentrant) TTL(ctx context.Context) (time.Duration, error) {
	return ask(ctx, l, "read lease", func(ctx context.Context, s *state) (time.Duration, error) {
		// go-redis returns -1 and -2 as they are, in nanoseconds.
		switch d, err := l.c.rdb.PTTL(ctx, s.names.lock).Result(); {
		case err != nil || d == -2:
			return 0, err
		default:
			return d, nil
		}
	})
}

// ForceUnlock frees the lock whoever holds it, and returns whether it was held.
// A holder in this client learns at once that its hold is lost, another with
// its next renewal or release.
func (l *Reentrant) ForceUnlock(ctx context.Context) (bool, error) {
	s, err := l.enter()
	if err != nil {
		return false, err
	}
	defer s.leave()
	held := l.c.holdings(l.key.name)
	freed, err := ask(ctx, l, "force lock", func(ctx context.Context, s *state) (bool, error) {
		n, err := l.c.publishing().force.Run(ctx, l.c.rdb, []string{s.names.lock, s.names.channel}, unlockMessage).Int()
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
		l.c.forced(held)
	}
	return freed, nil
}

// ask runs a request that changes no state of ours, within ctx.
func ask[T any](ctx context.Context, l *Reentrant, what string, f func(context.Context, *state) (T, error)) (T, error) {
	var zero T
	s, err := l.enter()
	if err != nil {
		return zero, err
	}
	defer s.leave()
	op, cancel := l.c.withDone(ctx)
	defer cancel()
	val, err := call(op, l.c, func(ctx context.Context) (T, error) { return f(ctx, s) })
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
