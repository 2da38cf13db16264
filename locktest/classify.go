package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// classified is a locker whose errors have the classes of package lock.
// It implements [lock.Locker].
type classified struct {
	of      lock.Locker
	lock    *Lock
	c       *Client
	permits int // that each acquire takes of a semaphore; 0 is 1
}

func (c *classified) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	g, err := c.of.Lock(ctx, opts...)
	return c.completed(g, opts), c.class(ctx, err)
}

func (c *classified) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	g, err := c.of.TryLock(ctx, opts...)
	return c.completed(g, opts), c.class(ctx, err)
}

// completed corrects the count of a lock that has only one hold at a time: one
// whose lease has ended without anybody's noticing is over. A grant that does not
// name its lease has the one that was asked for.
func (c *classified) completed(g lock.Grant, opts []lock.AcquireOption) lock.Grant {
	claims := c.lock.Claims
	g.Until = c.c.trueTime(g.Until)
	if !claims.Reentrant {
		g.Count = max(c.permits, 1)
	}
	if claims.Lease && g.Lease == 0 {
		g.Lease = lock.NewAcquire(opts).Lease
		if g.Lease == 0 || !claims.Explicit {
			g.Lease, g.Renewed = c.c.Lease, claims.Renewal
		}
	}
	return g
}

func (c *classified) Unlock(ctx context.Context) (remaining int, err error) {
	remaining, err = c.of.Unlock(ctx)
	if !c.lock.Claims.Reentrant {
		remaining = 0
	}
	err = c.class(ctx, err)
	if f, ok := c.of.(*Funcs); ok && (errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrLost)) {
		f.dropped()
	}
	return remaining, err
}

// Lost implements [lock.LostNotifier]. It is nil where the lock does not tell.
func (c *classified) Lost() <-chan struct{} {
	if n, ok := c.of.(lock.LostNotifier); ok && c.lock.Claims.LostSign {
		return n.Lost()
	}
	return nil
}

// HoldCount implements [lock.HoldCounter], where the lock does.
func (c *classified) HoldCount(ctx context.Context) (int, error) {
	if h, ok := c.of.(lock.HoldCounter); ok {
		return h.HoldCount(ctx)
	}
	return 0, errors.ErrUnsupported
}

// Until is the end of the hold's validity, where the lock states one.
func (c *classified) Until() time.Time {
	if f, ok := c.of.(*Funcs); ok && f.Until != nil {
		return c.c.trueTime(f.Until())
	}
	return time.Time{}
}

// Extend makes the hold last lease from now on, where the lock can.
func (c *classified) Extend(ctx context.Context, lease time.Duration) error {
	if f, ok := c.of.(*Funcs); ok && f.Extend != nil {
		return c.class(ctx, f.Extend(ctx, lease))
	}
	if x, ok := c.of.(lock.Extender); ok {
		return c.class(ctx, x.Extend(ctx, lease))
	}
	return errors.ErrUnsupported
}

// classes are the errors that name an outcome.
var classes = []error{lock.ErrBusy, lock.ErrNotHeld, lock.ErrLost, lock.ErrUnknown, lock.ErrAcks, lock.ErrRefused, lock.ErrClosed}

// class gives an error of the lock its class; an unfamiliar one is left as it is.
func (c *classified) class(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, known := range classes {
		if errors.Is(err, known) {
			return err
		}
	}
	as := func(class error) error { return fmt.Errorf("%w: %w", class, err) }
	if c.lock.Classify != nil {
		if class := c.lock.Classify(err); class != nil {
			return as(class)
		}
	}
	var waited *waitedError
	is := func(target error) bool { return target != nil && errors.Is(err, target) }
	switch {
	case is(c.lock.Lost):
		return as(lock.ErrLost)
	case is(c.lock.NotHeld):
		return as(lock.ErrNotHeld)
	case ctx.Err() != nil && broken(err) && !is(context.Canceled) && !is(context.DeadlineExceeded):
		return as(lock.ErrUnknown) // the request went out, whatever became of the context since
	case ctx.Err() != nil:
		return as(ctx.Err())
	case is(c.lock.Busy):
		return as(lock.ErrBusy)
	case errors.As(err, &waited) && errors.Is(err, context.DeadlineExceeded):
		return as(lock.ErrBusy)
	case broken(err):
		return as(lock.ErrUnknown)
	}
	return err
}

// broken says that a request may or may not have been carried out.
func broken(err error) bool {
	var network net.Error
	var reply redis.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &reply) && !errors.Is(err, redis.Nil)
}
