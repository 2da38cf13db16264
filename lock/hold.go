package lock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Hold is the grant of one call of [Client.Acquire]. No other call shares it, not even in
// another goroutine of the client. Its methods are safe for concurrent use.
type Hold struct {
	s      *state
	cur    *holding
	parent context.Context // of its context

	mu       sync.Mutex
	ctx      context.Context // nil until the first use
	released bool            // by its user, and certainly
}

// Acquire waits until it gets the lock called name, ctx ends, or [Wait] is over. The end
// of ctx ends the wait, not the hold. Every call is a new owner, so the lock is not
// reentrant and two calls exclude each other. For named owners use [Client.NewLock].
//
// Acquire returns [ErrBusy] only with Wait. If the server fails, it returns
// [ErrRefused] or [ErrUnknown] and the cause.
//
// The watchdog renews the hold until [Hold.Release], unless [Lease] is given.
func (c *Client) Acquire(ctx context.Context, name string, opts ...AcquireOption) (*Hold, error) {
	a := NewAcquire(opts)
	return c.hold(ctx, name, a, !a.bounded, false)
}

// Do runs work under the lock called name, and releases the lock when work returns or
// panics. The context of work ends when the lock is lost or ctx ends.
//
// Do returns the error of work, joined with that of the release. A nil error
// means that work succeeded and that the lock was held to its end. An error
// before work starts is that of [Client.Acquire]. Without work, Do returns an
// error and does not acquire the lock.
func (c *Client) Do(ctx context.Context, name string, work func(ctx context.Context, h *Hold) error, opts ...AcquireOption) (err error) {
	if work == nil {
		return errNoWork
	}
	h, err := c.Acquire(ctx, name, opts...)
	if err != nil {
		return err
	}
	return h.do(ctx, work)
}

var errNoWork = errors.New("lock: no work to do under the lock")

// do runs work under the hold, and releases it.
func (h *Hold) do(ctx context.Context, work func(context.Context, *Hold) error) (err error) {
	h.parent = ctx // no caller has its context yet
	defer func() {
		if released := h.Release(ctx); released != nil && !h.isReleased(released) {
			err = errors.Join(err, released)
		}
	}()
	return work(h.Context(), h)
}

// isReleased reports whether err only says that work has released the hold itself.
func (h *Hold) isReleased(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released && errors.Is(err, ErrNotHeld)
}

// hold acquires the lock with a new owner.
func (c *Client) hold(ctx context.Context, name string, a Acquire, forever, fair bool) (h *Hold, err error) {
	s, err := c.enterCall(name, fair)
	if err != nil {
		return nil, err
	}
	defer func() {
		if h == nil || !a.inRound {
			s.leave()
		}
	}()
	_, cur, err := s.acquire(ctx, a, forever)
	if err != nil {
		return nil, err
	}
	return &Hold{s: s, cur: cur, parent: context.WithoutCancel(ctx)}, nil
}

// Release releases the lock. If ctx has ended, it still tries for a timeout of
// its own. It returns [ErrLost] if the hold was lost before, [ErrNotHeld] if it
// was released before, and [ErrUnknown] if the server did not answer. After
// ErrUnknown the client goes on with the release, and you may call Release again.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.s.reenter(); err != nil {
		return err
	}
	defer h.s.leave()
	_, err := h.s.release(ctx)
	if err == nil {
		h.mu.Lock()
		h.released = true
		h.mu.Unlock()
	}
	return err
}

// undo releases the hold of a round that is still in use, and may have been closed.
func (h *Hold) undo(ctx context.Context) error {
	defer h.s.leave()
	_, err := h.s.release(ctx)
	return err
}

// Extend makes the hold last for at least d from now, and never shortens it. d is at
// least 1ms and at most 100 years. The watchdog goes on to renew a renewed hold. Extend
// returns [ErrLost], [ErrNotHeld], or [ErrUnknown] if the server did not answer: then the
// hold lasts as long as before, or longer.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if err := h.s.reenter(); err != nil {
		return err
	}
	defer h.s.leave()
	return h.s.extend(ctx, h.cur, d)
}

// Context returns a context for work under the hold. It ends when the hold is lost, with
// [ErrLost] as its cause, and when it is released, with [ErrNotHeld]. It has the values
// of the context of the acquire, and does not end with it: a timeout for the wait leaves
// the work alone. Only the context of [Client.Do] ends with that, too.
func (h *Hold) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		h.ctx = h.s.during(h.parent, h.cur)
	}
	return h.ctx
}

// Lost returns a channel that is closed when the hold is lost, but not when it
// is released. It looks at the clock, too; see [Reentrant.Lost].
func (h *Hold) Lost() <-chan struct{} {
	h.s.expire()
	return h.cur.lost
}

// Token returns the fencing token of the hold, or 0 without [WithFencing]. It
// is greater than that of every earlier hold of the lock.
func (h *Hold) Token() uint64 { return h.cur.token }

// Remaining returns the time to the end of the hold without a renewal or extension, by the
// clock of this process, and 0 after it. The server never ends the hold earlier if clocks
// run at the same rate within 1% and 2ms. Remaining does not ask the server.
func (h *Hold) Remaining() time.Duration { return remaining(h.until()) }

// until returns the end of the hold, or the zero time if the hold is over.
func (h *Hold) until() time.Time {
	h.s.c.mu.Lock()
	defer h.s.c.mu.Unlock()
	if !h.s.has(h.cur) {
		return time.Time{}
	}
	return h.cur.until
}

func remaining(until time.Time) time.Duration { return max(0, time.Until(until)) }
