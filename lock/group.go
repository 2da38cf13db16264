package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Member is a lock of a [Group]: the one called Name on the server of Client.
type Member struct {
	Client *Client
	Name   string
}

// GroupOptions are the settings of a [Group]. The zero value of each field is its
// default.
type GroupOptions struct {
	// Rand is the source of the pauses between rounds. Do not share it. The
	// default is seeded from crypto/rand.
	Rand *rand.Rand
	// RetryDelay is the mean pause between two rounds. The default is 200ms.
	RetryDelay time.Duration
	// NodeTimeout is the time in which one member of a group of [NewRedLock] must
	// answer. Keep it small against the lease. The default is 100ms.
	NodeTimeout time.Duration

	_ struct{}
}

// Group is several locks as one; make it with [NewMultiLock] or [NewRedLock].
//
// [Group.Acquire] and [Group.Do] take it for one call: each call is an owner. Lock and
// Unlock take it for the one owner that the Group itself is, which is reentrant. A nested
// Lock extends the hold and counts. An inner Unlock asks the members whether they are
// held. Two goroutines that share a Group exclude each other with Acquire, and not with
// Lock.
//
// A group that has lost too many members is lost. Its other members are no longer
// renewed, and end with their leases or with the release. The methods are safe for
// concurrent use.
type Group struct {
	members []Member
	opts    GroupOptions
	need    int  // members without which the group is not held
	any     bool // need of them are enough, in any order

	gate  chan struct{} // lets one Lock or Unlock through
	count int           // holds of own, after a loss those that no Unlock has reported; the gate guards it
	mu    sync.Mutex    // of own and of Rand; never held while a member is called
	own   *GroupHold    // of the owner that the group is
}

var (
	_ Locker       = (*Group)(nil)
	_ LostNotifier = (*Group)(nil)
)

// memberWait is the time for which a round of a MultiLock waits for each member before it
// releases everything and starts again. It ends a deadlock of two owners who take the
// same locks in different order.
const memberWait = 1500 * time.Millisecond

// NewMultiLock returns the group that is held while all of its members are held. It
// acquires them in the given order, in rounds, and starts again when a member is busy for
// long.
func NewMultiLock(opts GroupOptions, members ...Member) *Group {
	return newGroup(opts, members, len(members), false)
}

// NewRedLock returns the group that is held while a majority of its members is held. Put
// each member on an independent server, and use an odd number.
//
// Following the Redlock algorithm, it asks all members in parallel with a short timeout.
// The hold is valid for the lease less the time of the acquire, 1% and 2ms for drifting
// clocks. The algorithm needs clocks that run at about the same rate, and servers that do
// not forget a lock. A server that restarts without its data within the lease can give a
// second owner a majority.
func NewRedLock(opts GroupOptions, members ...Member) *Group {
	return newGroup(opts, members, len(members)/2+1, true)
}

func newGroup(opts GroupOptions, members []Member, need int, any bool) *Group {
	opts.RetryDelay = cmp.Or(max(opts.RetryDelay, 0), 200*time.Millisecond)
	opts.NodeTimeout = cmp.Or(max(opts.NodeTimeout, 0), 100*time.Millisecond)
	opts.Rand = orSeeded(opts.Rand)
	return &Group{members: members, opts: opts, need: need, any: any, gate: make(chan struct{}, 1)}
}

// Acquire takes the group for one call. It waits until ctx ends or [Wait] is over, in
// rounds, and makes a single one with Wait(0). It returns early if a member of a MultiLock
// fails with an error other than [ErrBusy]. A RedLock then asks again.
func (g *Group) Acquire(ctx context.Context, opts ...AcquireOption) (*GroupHold, error) {
	a := NewAcquire(opts)
	if !a.bounded {
		a.Wait = always
	}
	return g.acquire(ctx, a)
}

// Do runs work under the group, and releases it; see [Client.Do].
func (g *Group) Do(ctx context.Context, work func(ctx context.Context, h *GroupHold) error, opts ...AcquireOption) (err error) {
	if work == nil {
		return errNoWork
	}
	h, err := g.Acquire(ctx, opts...)
	if err != nil {
		return err
	}
	during, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	defer func() {
		stop()
		released := h.Release(ctx)
		cancel(ErrNotHeld)
		if !errors.Is(released, ErrNotHeld) || h.isLost() { // else work has released it
			err = errors.Join(err, released)
		}
	}()
	return work(during, h)
}

// Lock waits until it gets the group or ctx ends.
func (g *Group) Lock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return g.lock(ctx, NewAcquire(opts), true)
}

// TryLock makes rounds while [Wait] lasts, by default one. It returns [ErrBusy] if others
// hold too many members, and the errors of the members if too many do not answer.
func (g *Group) TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error) {
	return g.lock(ctx, NewAcquire(opts), false)
}

func (g *Group) lock(ctx context.Context, a Acquire, forever bool) (Grant, error) {
	err, start := g.check(a), time.Now()
	if err != nil {
		return Grant{}, err
	}
	if forever {
		a.Wait = always
	}
	op, cancel := context.WithTimeout(ctx, cmp.Or(max(a.Wait, 0), g.members[0].Client.cfg.unlockTimeout))
	defer cancel()
	select {
	case g.gate <- struct{}{}:
	case <-op.Done():
		return Grant{}, cmp.Or(ctx.Err(), ErrBusy) // the owner has another call under way
	}
	defer func() { <-g.gate }()
	h, left := g.ownHold(), error(nil)
	if h != nil && !h.isLost() && h.ctx.Err() != nil { // an Unlock of unknown outcome has begun to release it
		left, h = h.giveBack(ctx, 0, (*Hold).Release), nil
	}
	a.Wait = max(min(a.Wait, 1), a.Wait-time.Since(start)) // what is left of a wait remains one
	switch {
	case left != nil && op.Err() != nil:
		err = errors.Join(ctx.Err(), errStillOpen)
	case h == nil:
		if h, err = g.acquire(ctx, a); left != nil && errors.Is(err, ErrBusy) {
			err = errStillOpen
		}
	case h.isLost():
		err = fmt.Errorf("acquire all again: %w", ErrLost)
	default:
		if err = h.raise(op, a.Lease); err != nil && op.Err() != nil && ctx.Err() == nil && !h.isLost() {
			err = unknown("acquire all again", err)
		}
	}
	if err != nil {
		return Grant{}, err
	}
	g.mu.Lock()
	if g.own != h {
		g.own, g.count = h, 0
	}
	g.mu.Unlock()
	g.count++
	grant := Grant{Count: g.count}
	if grant.Renewed, grant.Lease = h.renewed(); !grant.Renewed {
		grant.Until = h.until()
		grant.Lease = time.Until(grant.Until)
	}
	return grant, nil
}

// Unlock releases one hold of the owner that the group is. The last one releases every
// member; see [GroupHold.Release]. After [ErrUnknown] you may call it again, for the same
// hold. If the group was lost, it returns [ErrLost] for each hold.
func (g *Group) Unlock(ctx context.Context) (remaining int, err error) {
	g.gate <- struct{}{} // what holds it ends by the timeouts of the members
	defer func() { <-g.gate }()
	h := g.ownHold()
	if h == nil {
		return 0, fmt.Errorf("release all: %w", ErrNotHeld)
	}
	if g.count > 1 && !h.isLost() {
		err = h.Extend(ctx, time.Millisecond) // too short to change anything, it tells of a loss
	} else {
		err = h.Release(ctx)
	}
	if h.isLost() {
		err = fmt.Errorf("release all: %w", ErrLost)
	} else if errors.Is(err, ErrUnknown) || errors.Is(err, ErrClosed) {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count == 0 {
		g.own = nil
	}
	if err != nil {
		return 0, err
	}
	return g.count, nil
}

// Lost returns a channel that is closed when the owner that the group is has lost it. It
// is nil while nothing is held.
func (g *Group) Lost() <-chan struct{} {
	if h := g.ownHold(); h != nil {
		return h.Lost()
	}
	return nil
}

func (g *Group) ownHold() *GroupHold {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own
}

// groupLeaseMin is the shortest lease of which the allowance for drift leaves anything.
const groupLeaseMin = 3 * time.Millisecond

// check refuses what no round could get.
func (g *Group) check(a Acquire) error {
	if len(g.members) == 0 {
		return errors.New("lock: a group without members")
	}
	return checkLease(cmp.Or(a.Lease, groupLeaseMin), groupLeaseMin)
}

const always = time.Duration(1 << 62) // the wait of an acquire that only its context ends

// acquire runs rounds until one succeeds, ctx ends, or the wait is over.
func (g *Group) acquire(ctx context.Context, a Acquire) (*GroupHold, error) {
	if err := g.check(a); err != nil {
		return nil, err
	}
	end := time.Now().Add(cmp.Or(max(a.Wait, 0), g.members[0].Client.cfg.unlockTimeout))
	var left time.Time // until which holds of an earlier round may stand
	for {
		holds, unsure, err := g.round(ctx, a, end)
		if err == nil {
			h := newGroupHold(ctx, g, holds)
			h.unsure = unsure
			if h.Remaining() > 0 {
				for _, m := range holds {
					if m != nil {
						m.s.leave()
					}
				}
				return h, nil
			}
			// The round took so long that its first grant may have ended.
			err = errors.Join(fmt.Errorf("acquire all: the lease ran out: %w", ErrBusy), h.giveBack(ctx, 0, (*Hold).undo))
		}
		if errors.Is(err, ErrUnknown) {
			left = time.Now().Add(cmp.Or(a.Lease, g.members[0].Client.cfg.lease))
		} else if errors.Is(err, ErrBusy) && time.Now().Before(left) {
			err = errStillOpen // they may be all that is in the way
		}
		if ctx.Err() == nil && a.Wait > 0 && g.mayRetry(err) {
			g.mu.Lock()
			pause := g.opts.RetryDelay/2 + time.Duration(g.opts.Rand.Int64N(int64(g.opts.RetryDelay)+1))
			g.mu.Unlock()
			if time.Until(end) > pause && sleep(ctx, nil, pause) {
				continue
			}
		}
		switch {
		case ctx.Err() == nil:
			return nil, err
		case errors.Is(err, ErrUnknown):
			return nil, errors.Join(ctx.Err(), ErrUnknown)
		}
		return nil, ctx.Err()
	}
}

// mayRetry reports whether another round may follow the failure of one.
func (g *Group) mayRetry(err error) bool {
	if g.any {
		return !errors.Is(err, ErrClosed)
	}
	return (errors.Is(err, ErrBusy) || errors.Is(err, ErrAcks)) && !errors.Is(err, ErrUnknown)
}

// round makes one attempt at all members. It returns their holds, nil for a member that
// is not held, and how many of those may have been granted. After a failure it has given
// everything back.
func (g *Group) round(ctx context.Context, a Acquire, whole time.Time) (holds []*Hold, unsure int, err error) {
	if g.any {
		return g.roundOfAny(ctx, a)
	}
	end := time.Now().Add(memberWait * time.Duration(len(g.members)))
	more := a.Wait > 0 && end.Before(whole) // rounds may follow
	if !more {
		end = whole
	}
	holds = make([]*Hold, len(g.members))
	for i, m := range g.members {
		err, left := ErrBusy, time.Until(end)
		if i == 0 || a.Wait <= 0 || left > 0 {
			one := Acquire{Lease: a.Lease, Wait: min(a.Wait, max(left, 1)), inRound: true}
			holds[i], err = m.Client.hold(ctx, m.Name, one, false, false)
		}
		if err != nil {
			if more && ctx.Err() == nil && !time.Now().Before(end) {
				err = ErrBusy // the time of the round ended it, and the member takes back what it may have got
			}
			err = fmt.Errorf("acquire member %d: %w", i, err)
			return nil, 0, errors.Join(err, newGroupHold(ctx, g, holds).giveBack(ctx, time.Since(whole), (*Hold).undo))
		}
	}
	return holds, 0, nil
}

// roundOfAny asks all members concurrently and waits for all of them, so that the
// outcome does not depend on the order of goroutines.
func (g *Group) roundOfAny(ctx context.Context, a Acquire) (holds []*Hold, unsure int, err error) {
	node, cancel := context.WithTimeout(ctx, g.opts.NodeTimeout)
	defer cancel()
	holds = make([]*Hold, len(g.members))
	errs := make([]error, len(g.members))
	var wg sync.WaitGroup
	for i, m := range g.members {
		wg.Go(func() {
			holds[i], errs[i] = m.Client.hold(node, m.Name, Acquire{Lease: a.Lease, hasty: true, inRound: true}, false, false)
		})
	}
	wg.Wait()
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
		if errors.Is(errs[i], ErrUnknown) {
			unsure++
		}
	}
	if granted >= g.need {
		return holds, unsure, nil
	}
	errs = append(errs, newGroupHold(ctx, g, holds).giveBack(ctx, 0, (*Hold).undo))
	if granted+taken >= g.need {
		return nil, 0, ErrBusy
	}
	return nil, 0, fmt.Errorf("acquire majority: %w", errors.Join(errs...))
}
