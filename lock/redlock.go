package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RedLock is held when a majority of its members is, each of which should be
// on a server of its own, independent of the others. It is lost when fewer
// than the majority still hold: then these are no longer renewed, and end with
// their leases or with Unlock.
//
// As Redlock has it, the members are asked in parallel with a short timeout,
// and the hold is valid for the lease less the time that took and less 1% and
// 2ms for drifting clocks. Members keep the renewal of their own.
//
// It rests on clocks that run at about the same pace, and on servers that do
// not forget a lock: one that restarts without its data, before the lease has
// run out, can make a second majority.
type RedLock struct{ group }

var (
	_ Locker       = (*RedLock)(nil)
	_ LostNotifier = (*RedLock)(nil)
)

// NewRedLock combines locks on independent servers; an odd number is best.
func NewRedLock(locks ...Locker) *RedLock { return NewRedLockWith(GroupOptions{}, locks...) }

// NewRedLockWith is [NewRedLock] with options.
func NewRedLockWith(opts GroupOptions, locks ...Locker) *RedLock {
	return &RedLock{newGroup(locks, opts, len(locks)/2+1)}
}

// Lock takes a majority, in rounds until ctx ends. Members that fail do not
// end it.
func (r *RedLock) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return r.acquire(ctx, opts, true, r.round, anyError)
}

// TryLock takes a majority, in rounds while [Wait] lasts. It returns [ErrBusy]
// when others hold too many members, and what the members said when too many
// do not answer. A round that is under way when the wait ends is not cut off: it
// may take up to the timeout of a member longer.
func (r *RedLock) TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return r.acquire(ctx, opts, false, r.round, anyError)
}

// anyError: all but a closed client is worth another round.
func anyError(err error) bool { return !errors.Is(err, ErrClosed) }

// noGrace in a context lets an acquire return without waiting for the
// compensation: it would be taken off the validity.
type noGrace struct{}

// round asks all members at once and waits for all of them, so that the
// outcome does not depend on which goroutine comes first.
func (r *RedLock) round(ctx context.Context, a Acquire, _ time.Time) (_ []bool, _ []Grant, from time.Time, _ error) {
	from = time.Now()
	node, cancel := context.WithTimeout(context.WithValue(ctx, noGrace{}, true), r.opts.NodeTimeout)
	defer cancel()
	has := make([]bool, len(r.members))
	grants := make([]Grant, len(r.members))
	errs := make([]error, len(r.members))
	r.each(func(i int, m Locker) {
		grants[i], errs[i] = m.TryLock(node, Lease(a.Lease))
		has[i] = errs[i] == nil
	})
	granted, taken := 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			granted++
		case errors.Is(err, ErrBusy):
			taken++
			errs[i] = fmt.Errorf("member %d is busy", i) // in words: it is not why the round failed
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			errs[i] = fmt.Errorf("member %d did not answer: %w", i, ErrUnknown)
		}
	}
	if granted >= r.need {
		return has, grants, from, nil
	}
	for i, err := range errs {
		has[i] = has[i] || r.orphan(i, err)
	}
	if err := r.giveBack(ctx, has); err != nil {
		errs = append(errs, err)
	}
	if granted+taken >= r.need {
		return nil, nil, from, ErrBusy
	}
	return nil, nil, from, fmt.Errorf("acquire majority: %w", errors.Join(errs...))
}

// Unlock gives one hold of every member back, all at once. It succeeds when so
// many members are free that another owner can have a majority. It returns
// [ErrLost] when the majority had been lost, and [ErrUnknown] when too few
// members answered: then it may be called again, and means the same hold.
func (r *RedLock) Unlock(ctx context.Context) (remaining int, err error) {
	u, ok := r.unlock(ctx)
	if !ok {
		return 0, fmt.Errorf("release majority: %w", ErrNotHeld)
	}
	held, lost, stuck := 0, 0, 0
	for i, err := range u.errs {
		switch {
		case u.levels[i] == 0:
		case err == nil:
			held++
		case errors.Is(err, ErrLost) || errors.Is(err, ErrNotHeld):
			lost++
		default:
			held++
			stuck++
		}
	}
	switch {
	case u.lost || held < r.need:
		return u.remaining, fmt.Errorf("release majority: %d of %d members had lost it: %w", lost, held+lost, ErrLost)
	case len(r.members)-stuck < r.need:
		return r.settle(u, fmt.Errorf("release majority: %w", errors.Join(u.errs...)))
	}
	return u.remaining, nil
}
