package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// memberWait is the time for which a round of [MultiLock.Lock] waits for each member
// before it releases everything and starts again. It ends a deadlock of two owners who
// take the same locks in different order.
const memberWait = 1500 * time.Millisecond

// MultiLock is held while all of its members are held. If one member is lost,
// the group is lost: the other members are no longer renewed, and end with
// their leases or with Unlock.
type MultiLock struct{ group }

var (
	_ Locker       = (*MultiLock)(nil)
	_ LostNotifier = (*MultiLock)(nil)
)

// NewMultiLock combines locks. It acquires them in the given order.
func NewMultiLock(locks ...Locker) *MultiLock { return NewMultiLockWith(GroupOptions{}, locks...) }

// NewMultiLockWith is [NewMultiLock] with options.
func NewMultiLockWith(opts GroupOptions, locks ...Locker) *MultiLock {
	return &MultiLock{newGroup(locks, opts, len(locks))}
}

// Lock acquires all members or none, in rounds until ctx ends. It returns early
// if a member fails with an error other than [ErrBusy].
func (m *MultiLock) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return m.acquire(ctx, opts, true, func(ctx context.Context, a Acquire, _ time.Time) ([]bool, []Grant, time.Time, error) {
		return m.round(ctx, a, time.Now().Add(memberWait*time.Duration(len(m.members))))
	}, busy)
}

// TryLock acquires all members or none. The members share the wait.
func (m *MultiLock) TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return m.acquire(ctx, opts, false, m.round, func(error) bool { return false })
}

func busy(err error) bool {
	return (errors.Is(err, ErrBusy) || errors.Is(err, ErrAcks)) && !errors.Is(err, ErrUnknown)
}

// round acquires the members in order until the deadline; without a deadline no
// member waits. The wait for a member may exceed a lease: earlier members are
// renewed meanwhile, or run out if the caller gave [Lease].
func (m *MultiLock) round(ctx context.Context, a Acquire, deadline time.Time) (_ []bool, _ []Grant, from time.Time, _ error) {
	has := make([]bool, len(m.members))
	grants := make([]Grant, len(m.members))
	for i, member := range m.members {
		opts := []AcquireOption{Lease(a.Lease)}
		err := ErrBusy
		if left := time.Until(deadline); deadline.IsZero() {
			grants[i], err = member.TryLock(ctx, opts...)
		} else if left > 0 {
			grants[i], err = member.TryLock(ctx, append(opts, Wait(left))...)
		}
		if err != nil {
			has[i] = m.orphan(i, err)
			err = fmt.Errorf("acquire member %d: %w", i, err)
			return nil, nil, from, errors.Join(err, m.giveBack(ctx, has))
		}
		has[i] = true
		if from.IsZero() && !grants[i].Renewed {
			from = began(grants[i])
		}
	}
	return has, grants, from, nil
}

// began is when the lease of a member's hold began: when its request was sent, as
// far as the member states that, or else now.
func began(g Grant) time.Time {
	if g.Until.IsZero() {
		return time.Now()
	}
	return g.Until.Add(margin(g.Lease) - g.Lease)
}

// Unlock releases one hold of every member, all of them concurrently. It joins
// their errors, so errors.Is finds each. After [ErrUnknown] you may call it
// again, for the same hold. If the group was lost, it releases all holds and
// returns [ErrLost], once.
func (m *MultiLock) Unlock(ctx context.Context) (remaining int, err error) {
	r, ok := m.unlock(ctx)
	if !ok {
		return 0, fmt.Errorf("release all: %w", ErrNotHeld)
	}
	var errs []error
	if r.lost {
		errs = append(errs, fmt.Errorf("release all: %w", ErrLost))
	}
	for i, err := range r.errs {
		if err != nil && !(r.lost && errors.Is(err, ErrNotHeld)) {
			errs = append(errs, fmt.Errorf("release member %d: %w", i, err))
		}
	}
	return m.settle(r, errors.Join(errs...))
}
