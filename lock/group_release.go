package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// deep is a member that lists its unanswered releases, and can release more holds
// together with them.
type deep interface {
	unlockAlso(ctx context.Context, levels int) (remaining int, err error)
	// settleOpen makes one attempt at every request whose outcome is open. It
	// returns [ErrUnknown] if the member may still be held because of one.
	settleOpen(ctx context.Context) error
}

// unlockMember releases levels holds of a member.
func (g *group) unlockMember(ctx context.Context, i, levels int) error {
	if m, ok := g.members[i].(deep); ok {
		_, err := m.unlockAlso(ctx, levels)
		return err
	}
	g.mu.Lock()
	levels += g.open[i]
	g.open[i] = 0
	g.mu.Unlock()
	for ; levels > 0; levels-- {
		switch _, err := g.members[i].Unlock(ctx); {
		case errors.Is(err, ErrUnknown):
			g.mu.Lock()
			g.open[i] = levels
			g.mu.Unlock()
			return err
		case err != nil:
			return err
		}
	}
	return nil
}

// settleMember settles what is open at a member without a hold: an earlier
// release or acquire that was not answered may have left it held.
func (g *group) settleMember(ctx context.Context, i int) error {
	m, ok := g.members[i].(deep)
	if !ok {
		return g.unlockMember(ctx, i, 0)
	}
	node, cancel := context.WithTimeout(ctx, g.opts.NodeTimeout)
	defer cancel()
	return m.settleOpen(node)
}

// unlockAll releases holds, levels[i] of member i, all members concurrently. If these are
// the last holds of the group, it also settles the open releases of the other members.
// The group is free only if they are.
func (g *group) unlockAll(ctx context.Context, levels []int, last bool) []error {
	errs := make([]error, len(g.members))
	g.each(func(i int, _ Locker) {
		switch {
		case levels[i] > 0:
			errs[i] = g.unlockMember(ctx, i, levels[i])
		case last:
			errs[i] = g.settleMember(ctx, i)
		}
	})
	return errs
}

// giveBack releases all members in has after a failed round, even after errors,
// and returns the unknown outcomes.
func (g *group) giveBack(ctx context.Context, has []bool) error {
	done := make(chan []error, 1)
	round := []level{{has}}
	g.mu.Lock()
	w, left := g.watch, g.leaving(round)
	g.mu.Unlock()
	if g.isLost(w) { // with one level more than it knew then
		g.leaveToLease()
	}
	go func() {
		errs := g.unlockAll(context.WithoutCancel(ctx), count(round), false)
		g.mu.Lock()
		w := g.watch
		left()
		g.mu.Unlock()
		if g.isLost(w) { // it may have been lost meanwhile
			g.leaveToLease()
		}
		done <- errs
	}()
	timer := time.NewTimer(giveBackGrace)
	defer timer.Stop()
	var errs []error
	select {
	case errs = <-done:
	case <-timer.C:
		return fmt.Errorf("give members back: no answer in time: %w", ErrUnknown)
	}
	var unclear []error
	for _, err := range errs {
		if errors.Is(err, ErrUnknown) {
			unclear = append(unclear, err)
		}
	}
	return errors.Join(unclear...)
}

// count sums the levels for each member.
func count(levels []level) []int {
	var n []int
	for _, l := range levels {
		if n == nil {
			n = make([]int, len(l.has))
		}
		for i, has := range l.has {
			if has {
				n[i]++
			}
		}
	}
	return n
}

// orphan reports whether a member may need a release although its acquire failed. Either
// its outcome is unknown and no other call takes it back, or it was lost before and has
// not reported that. orphan leaves a member alone that an outer level holds, because the
// release would take that hold.
func (g *group) orphan(i int, err error) bool {
	_, own := g.members[i].(ended)
	if !errors.Is(err, ErrLost) && (own || !errors.Is(err, ErrUnknown)) {
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

// groupRelease is the outcome of an Unlock of the group.
type groupRelease struct {
	remaining int
	levels    []int   // holds of each member to release
	errs      []error // of each member
	lost      bool    // the group was lost, so all levels were released
}

// unlock releases the innermost level, or all of them if the group is lost: its
// holder is notified once for all holds. After a release of unknown outcome it
// repeats that level. ok is false if there is nothing to release.
func (g *group) unlock(ctx context.Context) (r groupRelease, ok bool) {
	g.mu.Lock()
	n, w, again := len(g.levels), g.watch, g.again
	g.again = nil
	switch {
	case again != nil:
		g.mu.Unlock()
		r = *again
		g.each(func(i int, _ Locker) {
			switch {
			case !errors.Is(r.errs[i], ErrUnknown):
			case r.levels[i] == 0:
				r.errs[i] = g.settleMember(ctx, i)
			default:
				r.errs[i] = g.unlockMember(ctx, i, 0)
			}
		})
	case n == 0:
		g.mu.Unlock()
		return groupRelease{}, false
	default:
		r.lost = w.ended
		r.remaining = n - 1
		if r.lost {
			r.remaining = 0
		}
		left := g.leaving(slices.Clone(g.levels[r.remaining:]))
		after := g.leave(r.remaining, &r)
		g.mu.Unlock()
		after()
		r.errs = g.unlockAll(ctx, r.levels, r.remaining == 0)
		g.mu.Lock()
		left()
		g.mu.Unlock()
	}
	if r.remaining == 0 || !g.isLost(w) {
		return r, true
	}
	rest := groupRelease{lost: true}
	g.mu.Lock()
	after := g.leave(0, &rest)
	g.mu.Unlock()
	after()
	rest.errs = g.unlockAll(ctx, rest.levels, true)
	for i, err := range r.errs {
		rest.levels[i] += r.levels[i]
		if err != nil {
			rest.errs[i] = err
		}
	}
	return rest, true
}

// settle records the outcome of a release, so that a release of unknown outcome
// can be repeated.
func (g *group) settle(r groupRelease, err error) (int, error) {
	if errors.Is(err, ErrUnknown) && !r.lost {
		g.mu.Lock()
		g.again = &r
		g.mu.Unlock()
	}
	return r.remaining, err
}

// leaving records levels as under release, until left. The caller of both holds mu.
func (g *group) leaving(levels []level) (left func()) {
	g.leaves = append(g.leaves, levels)
	return func() {
		i := slices.IndexFunc(g.leaves, func(l []level) bool { return &l[0] == &levels[0] })
		g.leaves = slices.Delete(g.leaves, i, i+1)
	}
}

// leave removes the levels above the first remaining ones, and records the
// holds of each member in r. The caller holds mu, and calls after without it.
func (g *group) leave(remaining int, r *groupRelease) (after func()) {
	r.levels = count(g.levels[remaining:])
	g.levels = g.levels[:remaining]
	if remaining > 0 {
		return func() {}
	}
	end, stops := g.watch.end(ErrNotHeld), g.watch.stops
	g.watch = nil
	return func() {
		for _, stop := range stops {
			stop()
		}
		end()
	}
}
