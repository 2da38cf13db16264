package lock

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// GroupOptions are the settings of a [MultiLock] and a [RedLock]. The zero
// value of each field is its default.
type GroupOptions struct {
	// Rand is the source of the pauses between rounds. It must not be shared.
	// The default is seeded from crypto/rand.
	Rand *rand.Rand
	// RetryDelay is the mean pause between two rounds. The default is 200ms.
	RetryDelay time.Duration
	// NodeTimeout is how long one member of a RedLock may take to answer. It
	// should be small against the lease. The default is 100ms.
	NodeTimeout time.Duration

	_ struct{}
}

// group is what MultiLock and RedLock share: the levels held, and who is told
// when the group as a whole is lost.
type group struct {
	members []Locker
	opts    GroupOptions
	need    int // members that make the group held

	mu     sync.Mutex // never held while a member is called
	levels []level    // innermost last
	watch  *groupWatch
}

// level is one hold of the group: which members have it.
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
	return group{members: members, opts: opts, need: need}
}

// round is one attempt at all members; it returns which were granted, and from
// when the lease of the hold counts: zero when every member renews its own. On
// failure it has given everything back.
type round func(ctx context.Context, a Acquire, deadline time.Time) (has []bool, grants []Grant, from time.Time, err error)

// acquire runs rounds until one succeeds, ctx ends, or the wait is over.
// retriable says which failures of a round are worth another.
func (g *group) acquire(ctx context.Context, opts []AcquireOption, forever bool, run round, retriable func(error) bool) (Grant, error) {
	a := NewAcquire(opts)
	if len(g.members) == 0 {
		return Grant{}, errors.New("lock: a group without members")
	}
	if a.Lease < 0 || a.Lease > 0 && a.Lease < time.Millisecond {
		return Grant{}, fmt.Errorf("lock: lease %v is below 1ms", a.Lease)
	}
	var deadline time.Time
	if !forever && a.Wait > 0 {
		deadline = time.Now().Add(a.Wait)
	}
	for {
		has, grants, from, err := run(ctx, a, deadline)
		if err == nil {
			lease, renewed := combine(has, grants)
			if from.IsZero() || lease-time.Since(from)-drift(lease) > 0 {
				return g.granted(has, lease, renewed), nil
			}
			// It took so long that what came first may be gone already.
			err = fmt.Errorf("acquire all: the lease ran out: %w", ErrBusy)
			err = errors.Join(err, g.giveBack(ctx, has))
		}
		if ctx.Err() != nil {
			if errors.Is(err, ErrUnknown) {
				return Grant{}, errors.Join(ctx.Err(), ErrUnknown)
			}
			return Grant{}, ctx.Err()
		}
		if !retriable(err) || !forever && deadline.IsZero() {
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

// drift is Redlock's allowance for clocks that do not run at the same pace.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// combine returns the shortest lease, and whether all are renewed.
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

// granted enters a level.
func (g *group) granted(has []bool, lease time.Duration, renewed bool) Grant {
	g.mu.Lock()
	if g.watch != nil && g.watch.ended { // what was held before is lost: this is a new hold
		g.levels = nil
	}
	g.levels = append(g.levels, level{has})
	count := len(g.levels)
	first := count == 1
	if first {
		g.watch = &groupWatch{held: len(g.members), lost: make(chan struct{})}
	}
	w := g.watch
	g.mu.Unlock()
	if first {
		g.follow(w, has)
	}
	return Grant{Count: count, Lease: lease, Renewed: renewed}
}

// ended is a member that tells when its hold ends. It also takes back its own
// acquires of unknown outcome.
type ended interface {
	onEnd(func(cause error)) (remove func(), cause error)
}

// follow learns about losses of the members.
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
			continue // nobody can tell
		}
		g.mu.Lock()
		w.stops = append(w.stops, stop)
		g.mu.Unlock()
	}
}

// memberLost counts a member out.
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
}

// end marks the holding as over. Called under mu; after is called without.
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

// giveBack releases the members in has after a failed round, all of them
// whatever happens, and returns the outcomes that are unknown.
func (g *group) giveBack(ctx context.Context, has []bool) error {
	var errs []error
	for i, m := range g.members {
		if !has[i] {
			continue
		}
		if _, err := m.Unlock(ctx); errors.Is(err, ErrUnknown) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// orphan says whether a member may have to be released although its acquire
// failed: its outcome is unknown, and nobody else takes it back. A member that
// an outer level holds is left alone, lest that hold is given back instead.
func (g *group) orphan(i int, err error) bool {
	if _, ok := g.members[i].(ended); ok || !errors.Is(err, ErrUnknown) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.levels {
		if l.has[i] {
			return false
		}
	}
	return true
}

// pop removes the innermost level.
func (g *group) pop() (l level, remaining int, ok bool) {
	g.mu.Lock()
	n := len(g.levels)
	if n == 0 {
		g.mu.Unlock()
		return level{}, 0, false
	}
	l = g.levels[n-1]
	g.levels = g.levels[:n-1]
	after := func() {}
	var stops []func()
	if n == 1 {
		after = g.watch.end(ErrNotHeld)
		stops = g.watch.stops
		g.watch = nil
	}
	g.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	after()
	return l, n - 1, true
}
