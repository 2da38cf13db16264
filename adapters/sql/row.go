package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// row is the kind of lock that is a row with a unique key, an owner and an end.
const row = "row"

// rowOwner is one owner's view of one such lock. Each hold has a name of its
// own, so that what comes late meets no other hold.
type rowOwner struct {
	of       *client
	name, id string

	mu    sync.Mutex
	holds int
	held  string // the present hold's owner; "" for none
}

// Lock implements [lock.Locker].
func (o *rowOwner) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return o.acquire(ctx, lock.NewAcquire(opts).Lease, -1)
}

// TryLock implements [lock.Locker].
func (o *rowOwner) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	return o.acquire(ctx, a.Lease, max(0, a.Wait))
}

// acquire tries until the wait is over; below 0 is for ever.
func (o *rowOwner) acquire(ctx context.Context, lease, wait time.Duration) (lock.Grant, error) {
	lease = cmp.Or(lease, o.of.lease)
	limit := wait
	if wait == 0 {
		limit = o.of.timeout
	}
	within, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		within, cancel = context.WithTimeoutCause(ctx, limit, errOver)
	}
	defer cancel()
	o.mu.Lock()
	o.holds++
	hold := fmt.Sprintf("%s/%d", o.id, o.holds)
	o.mu.Unlock()
	for {
		if o.of.closed() {
			return lock.Grant{}, lock.ErrClosed
		}
		sent := time.Now()
		token, taken, err := o.of.base.rows.take(within, o.of.db, o.name, hold, lease)
		made := false
		if err == nil && !taken { // maybe as there is no such row
			made, err = o.makeRow(within)
		}
		switch {
		case made:
			continue
		case err != nil:
			o.giveBack(hold, sent.Add(lease))
			return lock.Grant{}, unclear(ctx, err)
		case taken:
			o.mu.Lock()
			defer o.mu.Unlock()
			o.held = hold
			return lock.Grant{Count: 1, Token: uint64(token), Lease: lease, Until: sent.Add(lease)}, nil
		case wait == 0:
			return lock.Grant{}, lock.ErrBusy
		}
		select {
		case <-time.After(o.of.poll):
		case <-within.Done():
			if ctx.Err() != nil {
				return lock.Grant{}, ctx.Err()
			}
			return lock.Grant{}, lock.ErrBusy
		}
	}
}

// makeRow makes the row of the lock, and says whether there was none.
func (o *rowOwner) makeRow(ctx context.Context) (bool, error) {
	r, err := o.of.db.ExecContext(ctx, o.of.base.ensure, o.name)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// giveBack gives back what may have been taken, as long as the lease may last.
func (o *rowOwner) giveBack(hold string, until time.Time) {
	o.of.undoing.Go(func() {
		ctx, cancel := context.WithDeadline(o.of.life, until)
		defer cancel()
		for {
			if _, err := o.of.db.ExecContext(ctx, o.of.base.rows.give, o.name, hold); err == nil {
				return
			}
			select {
			case <-time.After(o.of.poll):
			case <-ctx.Done():
				return
			}
		}
	})
}

// Unlock implements [lock.Locker].
func (o *rowOwner) Unlock(ctx context.Context) (int, error) {
	o.mu.Lock()
	hold := o.held
	o.held = ""
	o.mu.Unlock()
	if hold == "" {
		return 0, lock.ErrNotHeld
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.of.timeout)
	defer cancel()
	r, err := o.of.db.ExecContext(ctx, o.of.base.rows.give, o.name, hold)
	if err != nil {
		return 0, unclear(ctx, err)
	}
	if n, err := r.RowsAffected(); n == 0 || err != nil {
		return 0, errors.Join(lock.ErrLost, err)
	}
	return 0, nil
}

// HoldCount implements [lock.HoldCounter].
func (o *rowOwner) HoldCount(ctx context.Context) (int, error) {
	o.mu.Lock()
	hold := o.held
	o.mu.Unlock()
	if hold == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.of.timeout)
	defer cancel()
	n := 0
	if err := o.of.db.QueryRowContext(ctx, o.of.base.rows.held, o.name, hold).Scan(&n); err != nil {
		return 0, unclear(ctx, err)
	}
	return n, nil
}
