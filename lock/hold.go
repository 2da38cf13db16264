package lock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Hold is a lock that one call of [Client.Acquire] was granted. Nobody else has
// it, not even another goroutine of the same client. Its methods are safe for
// concurrent use.
type Hold struct {
	s      *state
	cur    *holding
	parent context.Context // of the call

	mu       sync.Mutex
	ctx      context.Context // nil until somebody asks for it
	released bool            // by its user, for certain
}

// Acquire waits for the lock called name until it is granted, ctx ends, or
// [Wait] is over. Every call is an owner of its own: the lock is not reentrant,
// and two calls exclude each other. For owners with names take [Client.NewLock].
//
// It returns [ErrBusy] only with Wait. When the server fails it returns
// [ErrRefused] or [ErrUnknown] and the cause.
//
// The hold is renewed until [Hold.Release], unless [Lease] says otherwise.
func (c *Client) Acquire(ctx context.Context, name string, opts ...AcquireOption) (*Hold, error) {
	a := NewAcquire(opts)
	return c.hold(ctx, name, a, !a.bounded, false)
}

// TryAcquire asks for the lock called name once, whatever [Wait] says, and
// returns [ErrBusy] when somebody else has it. Otherwise it is [Client.Acquire].
func (c *Client) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Hold, error) {
	a := NewAcquire(opts)
	a.Wait = 0
	return c.hold(ctx, name, a, false, false)
}

// Do runs work under the lock called name, and releases the lock when work
// returns or panics. The context of work ends when the lock is lost, and when
// ctx does.
//
// It returns the error of work, joined with that of the release: a nil error
// says that work succeeded and that the lock was held until then. An error
// before work has begun is that of [Client.Acquire].
func (c *Client) Do(ctx context.Context, name string, work func(ctx context.Context, h *Hold) error, opts ...AcquireOption) (err error) {
	h, err := c.Acquire(ctx, name, opts...)
	if err != nil {
		return err
	}
	return h.do(ctx, work)
}

// do runs work under the hold, and releases it.
func (h *Hold) do(ctx context.Context, work func(context.Context, *Hold) error) (err error) {
	defer func() {
		switch released := h.Release(ctx); {
		case released == nil || h.isReleased(released):
		case err == nil:
			err = released
		default:
			err = errors.Join(err, released)
		}
	}()
	return work(h.Context(), h)
}

// isReleased says whether err is only that work has released the hold itself.
func (h *Hold) isReleased(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released && errors.Is(err, ErrNotHeld)
}

// hold takes the lock as an owner of its own.
func (c *Client) hold(ctx context.Context, name string, a Acquire, forever, fair bool) (*Hold, error) {
	s, err := c.enterCall(name, fair)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	_, cur, err := s.acquire(ctx, a, forever)
	if err != nil {
		return nil, err
	}
	return &Hold{s: s, cur: cur, parent: ctx}, nil
}

// Release gives the lock back. It carries on when ctx is already cancelled, with
// a timeout of its own. It returns [ErrLost] when the hold was lost before,
// [ErrNotHeld] when it was released before, and [ErrUnknown] when the server did
// not answer. In the last case the hold is not renewed any more, and Release may
// be called again.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.s.reenter(); err != nil {
		return err
	}
	defer h.s.leave()
	_, err := h.s.release(ctx, 0)
	if err == nil {
		h.mu.Lock()
		h.released = true
		h.mu.Unlock()
	}
	return err
}

// Extend makes the hold last until d from now at least; it never shortens it. A
// hold that is renewed stays so. It returns [ErrLost], [ErrNotHeld], or
// [ErrUnknown] when the server did not answer: then the hold lasts as long as
// before, or longer.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if err := h.s.reenter(); err != nil {
		return err
	}
	defer h.s.leave()
	return h.s.extend(ctx, d)
}

// Context returns a context for work under the hold. It ends with the context
// that the hold was acquired with, when the hold is lost, with [ErrLost] as its
// cause, and when it is released, with [ErrNotHeld].
func (h *Hold) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		ctx, cancel := context.WithCancelCause(h.parent)
		if remove, cause := h.s.onEnd(h.cur, cancel); cause != nil {
			cancel(cause)
		} else {
			context.AfterFunc(ctx, remove)
		}
		h.ctx = ctx
	}
	return h.ctx
}

// Lost returns a channel that is closed when the hold is lost. It stays open
// when the hold is released.
func (h *Hold) Lost() <-chan struct{} { return h.cur.lost }

// Token returns the fencing token of the hold, 0 without [WithFencing]. It is
// greater than that of every hold of the same lock before.
func (h *Hold) Token() uint64 { return h.cur.token }

// Deadline returns when the hold ends unless it is renewed or extended, by the
// clock of this process, and early enough for the server not to be first. It is
// zero when the hold has ended.
func (h *Hold) Deadline() time.Time { return h.s.validity(h.cur) }

// Remaining returns how much of the hold is left unless it is renewed or
// extended, and 0 when it has ended. It does not ask the server.
func (h *Hold) Remaining() time.Duration { return remaining(h.Deadline()) }

func remaining(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	return max(0, time.Until(deadline))
}
