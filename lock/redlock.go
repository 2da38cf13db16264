package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RedLock is held while a majority of its members is held. Put each member on an
// independent server. If fewer members than a majority are held, the group is lost. The
// client renews the others no longer, and they end with their leases or with Unlock.
//
// Following the Redlock algorithm, RedLock asks all members in parallel with a
// short timeout. The hold is valid for the lease less the time of the acquire,
// 1% and 2ms for drifting clocks. Members renew themselves.
//
// RedLock needs clocks that run at about the same rate, and servers that do not
// forget a lock. A server that restarts without its data within the lease can
// give a second owner a majority.
type RedLock struct{ group }

var (
	_ Locker       = (*RedLock)(nil)
	_ LostNotifier = (*RedLock)(nil)
)

// NewRedLock combines locks on independent servers; use an odd number.
func NewRedLock(locks ...Locker) *RedLock { return NewRedLockWith(GroupOptions{}, locks...) }

// NewRedLockWith is [NewRedLock] with options.
func NewRedLockWith(opts GroupOptions, locks ...Locker) *RedLock {
	return &RedLock{newGroup(locks, opts, len(locks)/2+1)}
}

// Lock acquires a majority, in rounds until ctx ends. A failing member does not
// end it.
func (r *RedLock) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return r.acquire(ctx, opts, true, r.round, anyError)
}

// TryLock acquires a majority, in rounds while [Wait] lasts. It returns
// [ErrBusy] if others hold too many members, and the errors of the members if
// too many do not answer. It does not interrupt an open round at the end of the
// wait, so it may take up to the timeout of a member longer.
func (r *RedLock) TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return r.acquire(ctx, opts, false, r.round, anyError)
}

// anyError accepts every failure except that of a closed client for another
// round.
func anyError(err error) bool { return !errors.Is(err, ErrClosed) }

// noGrace in a context makes an acquire return without waiting for its
// compensation, which would shorten the validity.
type noGrace struct{}

// round asks all members concurrently and waits for all of them, so that the
// outcome does not depend on the order of goroutines.
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
			errs[i] = fmt.Errorf("member %d is busy", i) // as text: it is not the reason of the failed round
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

// Unlock releases one hold of every member, all of them concurrently. It
// succeeds if enough members are free for another owner's majority. It returns
// [ErrLost] if the majority was lost, and [ErrUnknown] if too few members
// answered: then you may call it again, for the same hold.
func (r *RedLock) Unlock(ctx context.Context) (remaining int, err error) {
	u, ok := r.unlock(ctx)
	if !ok {
		return 0, fmt.Errorf("release majority: %w", ErrNotHeld)
	}
	held, lost, stuck := 0, 0, 0
	for i, err := range u.errs {
		switch {
		case u.levels[i] == 0:
			if errors.Is(err, ErrUnknown) { // an earlier request may have left it held
				stuck++
			}
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
