package lock

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// GroupOptions are the settings of a [MultiLock] and a [RedLock]. The zero
// value of each field is its default.
type GroupOptions struct {
	// Rand is the source of the pauses between rounds. Do not share it. The
	// default is seeded from crypto/rand.
	Rand *rand.Rand
	// RetryDelay is the mean pause between two rounds. The default is 200ms.
	RetryDelay time.Duration
	// NodeTimeout is the time in which one member of a RedLock must answer.
	// Keep it small against the lease. The default is 100ms.
	NodeTimeout time.Duration

	_ struct{}
}

// group is the common part of MultiLock and RedLock: the held levels, and the
// listeners for the loss of the group.
type group struct {
	members []Locker
	opts    GroupOptions
	need    int // members without which the group is not held

	mu     sync.Mutex    // never held while a member is called
	levels []level       // innermost last
	leaves [][]level     // by release: the levels under it; their members may not know it yet
	open   []int         // unanswered releases of each member
	again  *groupRelease // the release that another Unlock repeats
	watch  *groupWatch
}

// level is one hold of the group, and the members that have it.
type level struct {
	has []bool
}

// groupWatch follows one holding of the group from 0 -> 1. Guarded by
// group.mu.
type groupWatch struct {
	held   int // members that have not lost it
	lost   chan struct{}
	ended  bool
	cause  error
	enders map[int]func(error)
	next   int
	stops  []func() // stop following the members
}

func newGroup(members []Locker, opts GroupOptions, need int) group {
	if opts.RetryDelay <= 0 {
		opts.RetryDelay = 200 * time.Millisecond
	}
	if opts.NodeTimeout <= 0 {
		opts.NodeTimeout = 100 * time.Millisecond
	}
	if opts.Rand == nil {
		var seed [32]byte
		_, _ = crand.Read(seed[:]) // never fails
		opts.Rand = rand.New(rand.NewChaCha8(seed))
	}
	return group{members: members, opts: opts, need: need, open: make([]int, len(members))}
}

// round makes one attempt at all members. It returns the granted members, and
// the start of the hold's lease: zero if every member renews its own. After a
// failure it has released everything.
type round func(ctx context.Context, a Acquire, deadline time.Time) (has []bool, grants []Grant, from time.Time, err error)

// errRanOut: a round took longer than the lease that was asked for.
var errRanOut = fmt.Errorf("acquire all: the lease ran out: %w", ErrBusy)

// errLostAgain: the group that was to be acquired once more is lost.
var errLostAgain = fmt.Errorf("acquire all again: %w", ErrLost)

// acquire runs rounds until one succeeds, ctx ends, or the wait is over.
// Another round follows if retriable accepts the failure, or if the lease ran
// out during the round.
func (g *group) acquire(ctx context.Context, opts []AcquireOption, forever bool, run round, retriable func(error) bool) (Grant, error) {
	a := NewAcquire(opts)
	if len(g.members) == 0 {
		return Grant{}, errors.New("lock: a group without members")
	}
	if a.Lease != 0 {
		if err := checkLease(a.Lease, groupLeaseMin); err != nil {
			return Grant{}, err
		}
	}
	var deadline time.Time
	if !forever && a.Wait > 0 {
		deadline = time.Now().Add(a.Wait)
	}
	for {
		g.mu.Lock()
		w := g.watch
		g.mu.Unlock()
		if g.isLost(w) {
			return Grant{}, errLostAgain
		}
		has, grants, from, err := g.run(ctx, w, a, deadline, run)
		if err != nil && !errors.Is(err, ErrLost) && g.isLost(w) {
			if errors.Is(err, ErrUnknown) {
				return Grant{}, errors.Join(errLostAgain, ErrUnknown)
			}
			return Grant{}, errLostAgain
		}
		if err == nil {
			lease, renewed := combine(has, grants)
			if from.IsZero() || lease-time.Since(from)-drift(lease) > 0 {
				if count, ok := g.granted(w, has); ok {
					grant := Grant{Count: count, Lease: lease, Renewed: renewed}
					if !renewed {
						grant.Lease -= time.Since(from) + drift(lease)
						grant.Until = time.Now().Add(grant.Lease)
					}
					return grant, nil
				}
			}
			// The round took so long that its first grant may have ended.
			err = errRanOut
			if g.isLost(w) {
				err = errLostAgain
			}
			err = errors.Join(err, g.giveBack(ctx, has))
		}
		if ctx.Err() != nil {
			if errors.Is(err, ErrUnknown) {
				return Grant{}, errors.Join(ctx.Err(), ErrUnknown)
			}
			return Grant{}, ctx.Err()
		}
		again := retriable(err) || errors.Is(err, errRanOut) && !errors.Is(err, ErrUnknown)
		if !again || !forever && deadline.IsZero() {
			return Grant{}, err
		}
		g.mu.Lock()
		pause := g.opts.RetryDelay/2 + time.Duration(g.opts.Rand.Int64N(int64(g.opts.RetryDelay)+1))
		g.mu.Unlock()
		if !deadline.IsZero() && time.Until(deadline) <= pause {
			return Grant{}, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Grant{}, ctx.Err()
		}
	}
}

// run runs a round. The round ends when the enclosing holding w is lost,
// because another hold of it would be lost as well.
func (g *group) run(ctx context.Context, w *groupWatch, a Acquire, deadline time.Time, run round) (has []bool, grants []Grant, from time.Time, err error) {
	if w != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		remove, cause := g.onEnd(func(cause error) {
			if errors.Is(cause, ErrLost) {
				cancel()
			}
		})
		if cause == nil {
			defer remove()
		}
	}
	return run(ctx, a, deadline)
}

// groupLeaseMin is the shortest lease in full milliseconds of which drift leaves
// anything.
const groupLeaseMin = 3 * time.Millisecond

// drift is Redlock's allowance for clocks that run at different rates.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// combine returns the shortest lease, and whether all members are renewed.
func combine(has []bool, grants []Grant) (lease time.Duration, renewed bool) {
	renewed = true
	for i, gr := range grants {
		if !has[i] {
			continue
		}
		if lease == 0 || gr.Lease > 0 && gr.Lease < lease {
			lease = gr.Lease
		}
		renewed = renewed && gr.Renewed
	}
	if lease == 0 {
		lease = time.Duration(1<<63 - 1) // no member's hold ever ends
	}
	return lease, renewed
}

// granted enters a level within the holding w, or within a new one. It returns
// false if the group is already lost, or if the holding has ended meanwhile.
func (g *group) granted(w *groupWatch, has []bool) (count int, ok bool) {
	first := w == nil
	if first {
		w = &groupWatch{held: len(g.members), lost: make(chan struct{})}
		g.follow(w, has)
		g.mu.Lock()
		if ok = !w.ended && g.watch == nil; ok {
			g.watch = w
		}
	} else {
		g.mu.Lock()
		ok = !w.ended && g.watch == w
	}
	if ok {
		g.levels = append(g.levels, level{has})
		g.again = nil // the members have resolved it
	}
	count = len(g.levels)
	stops := w.stops
	g.mu.Unlock()
	if first && !ok {
		for _, stop := range stops {
			stop()
		}
	}
	return count, ok
}

// isLost reports whether a holding of the group was lost.
func (g *group) isLost(w *groupWatch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w != nil && w.ended && errors.Is(w.cause, ErrLost)
}

// ended is a member that notifies of the end of its hold. It also takes back
// its own acquires of unknown outcome.
type ended interface {
	onEnd(func(cause error)) (remove func(), cause error)
}

// follow subscribes to the losses of the members.
func (g *group) follow(w *groupWatch, has []bool) {
	for i, m := range g.members {
		if !has[i] {
			g.memberLost(w)
			continue
		}
		var stop func()
		switch m := m.(type) {
		case ended:
			remove, cause := m.onEnd(func(cause error) {
				if errors.Is(cause, ErrLost) {
					g.memberLost(w)
				}
			})
			if cause != nil {
				g.memberLost(w)
				continue
			}
			stop = remove
		case LostNotifier:
			lost, quit := m.Lost(), make(chan struct{})
			go func() {
				select {
				case <-lost:
					g.memberLost(w)
				case <-quit:
				}
			}()
			stop = func() { close(quit) }
		default:
			continue // it cannot notify
		}
		g.mu.Lock()
		w.stops = append(w.stops, stop)
		g.mu.Unlock()
	}
}

// memberLost removes a member from the count.
func (g *group) memberLost(w *groupWatch) {
	g.mu.Lock()
	w.held--
	if w.held >= g.need || w.ended {
		g.mu.Unlock()
		return
	}
	close(w.lost)
	after := w.end(ErrLost)
	g.mu.Unlock()
	after()
	g.leaveToLease()
}

// leased is a member that can leave its holds to their leases.
type leased interface {
	// stopRenewing stops the renewal of the owner's holds, unless there are
	// more than levels: then another user relies on one.
	stopRenewing(levels int)
}

// leaveToLease stops the renewal of the members that a lost group still holds.
// The owner has been notified, and may never call Unlock.
func (g *group) leaveToLease() {
	g.mu.Lock()
	levels := count(slices.Concat(g.levels, slices.Concat(g.leaves...)))
	g.mu.Unlock()
	for i, n := range levels {
		if m, ok := g.members[i].(leased); ok && n > 0 {
			m.stopRenewing(n)
		}
	}
}

// stopRenewing leaves a group that is itself a member to its leases.
func (g *group) stopRenewing(levels int) {
	g.mu.Lock()
	more := len(g.levels)+len(slices.Concat(g.leaves...)) > levels
	g.mu.Unlock()
	if !more {
		g.leaveToLease()
	}
}

// end marks the holding as over. The caller holds mu, and calls after without
// it.
func (w *groupWatch) end(cause error) (after func()) {
	if w.ended {
		return func() {}
	}
	w.ended, w.cause = true, cause
	enders, n := w.enders, w.next
	w.enders = nil
	return func() {
		for i := range n {
			if f := enders[i]; f != nil {
				f(cause)
			}
		}
	}
}

// onEnd registers f for the end of the current holding.
func (g *group) onEnd(f func(cause error)) (remove func(), cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.watch
	switch {
	case w == nil:
		return nil, ErrNotHeld
	case w.ended:
		return nil, w.cause
	case w.enders == nil:
		w.enders = make(map[int]func(error))
	}
	i := w.next
	w.next++
	w.enders[i] = f
	return func() {
		g.mu.Lock()
		delete(w.enders, i)
		g.mu.Unlock()
	}, nil
}

// Lost returns a channel that is closed when the group is lost; see
// [LostNotifier].
func (g *group) Lost() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watch == nil {
		return nil
	}
	return g.watch.lost
}

// each runs f for every member concurrently and waits for all.
func (g *group) each(f func(i int, m Locker)) {
	var wg sync.WaitGroup
	for i, m := range g.members {
		wg.Go(func() { f(i, m) })
	}
	wg.Wait()
}

// giveBackGrace is the time for which a failed round waits for the release of its
// members. The release itself goes on.
const giveBackGrace = 500 * time.Millisecond
