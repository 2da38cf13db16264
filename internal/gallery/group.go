package gallery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// group is a lock on several others, as people write one: held while need of its members
// are. It asks them one after another, and gives all back after a failed round.
// It implements [lock.Locker] and [lock.LostNotifier].
type group struct {
	members []lock.Locker
	need    int
	rand    *rand.Rand // of the pauses between rounds

	mu     sync.Mutex
	levels []*level // innermost last
}

type level struct {
	has  []bool // by member
	held int
	lost chan struct{} // closed when too few members are held
	over chan struct{} // closed at the release
}

const (
	groupPause  = 200 * time.Millisecond // the mean pause between rounds
	nodeTimeout = 100 * time.Millisecond // of a member of which others can take the place
)

func (g *group) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return g.acquire(ctx, lock.NewAcquire(opts), true)
}

func (g *group) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return g.acquire(ctx, lock.NewAcquire(opts), false)
}

func (g *group) acquire(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
	end := time.Now().Add(a.Wait)
	for {
		grant, err := g.round(ctx, a)
		pause := groupPause/2 + time.Duration(g.rand.Int64N(int64(groupPause)))
		switch {
		case err == nil:
			return grant, nil
		case ctx.Err() != nil:
			return lock.Grant{}, errors.Join(ctx.Err(), unknownOf(err))
		case errors.Is(err, lock.ErrClosed), g.need == len(g.members) && !errors.Is(err, lock.ErrBusy),
			!forever && time.Until(end) <= pause:
			return lock.Grant{}, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return lock.Grant{}, ctx.Err()
		}
	}
}

// unknownOf is ErrUnknown if err is; else nil.
func unknownOf(err error) error {
	if errors.Is(err, lock.ErrUnknown) {
		return lock.ErrUnknown
	}
	return nil
}

// round asks every member once. If all are needed, it asks in order up to the first
// failure, and otherwise side by side.
func (g *group) round(ctx context.Context, a lock.Acquire) (lock.Grant, error) {
	start := time.Now()
	grants, errs := make([]lock.Grant, len(g.members)), make([]error, len(g.members))
	if g.need == len(g.members) {
		for i, m := range g.members {
			if grants[i], errs[i] = m.TryLock(ctx, lock.Lease(a.Lease)); errs[i] != nil {
				for j := i + 1; j < len(errs); j++ {
					errs[j] = errNotAsked
				}
				break
			}
		}
	} else {
		node, cancel := context.WithTimeout(ctx, nodeTimeout)
		var wg sync.WaitGroup
		for i, m := range g.members {
			wg.Go(func() { grants[i], errs[i] = m.TryLock(node, lock.Lease(a.Lease)) })
		}
		wg.Wait()
		cancel()
	}
	l := &level{has: make([]bool, len(g.members)), lost: make(chan struct{}), over: make(chan struct{})}
	grant, busy := lock.Grant{Renewed: true}, 0
	for i, err := range errs {
		l.has[i] = err == nil || errors.Is(err, lock.ErrUnknown)
		switch {
		case err == nil:
			l.held++
			grant.Renewed = grant.Renewed && grants[i].Renewed
			if d := grants[i].Lease; grant.Lease == 0 || d > 0 && d < grant.Lease {
				grant.Lease = d
			}
			continue
		case errors.Is(err, lock.ErrBusy):
			busy++
		}
		errs[i] = fmt.Errorf("acquire member %d: %w", i, err)
	}
	left := grant.Lease - time.Since(start) - grant.Lease/100 - 2*time.Millisecond
	over := !grant.Renewed && grant.Lease > 0 && left <= 0 // a lease of 0 never ends
	if l.held < g.need || over {
		errs = append(errs, unknownOf(errors.Join(g.release(ctx, l)...)))
		if over || l.held+busy >= g.need {
			errs = append(errs, lock.ErrBusy)
		}
		return lock.Grant{}, errors.Join(errs...)
	}
	if !grant.Renewed && grant.Lease > 0 {
		grant.Lease, grant.Until = left, time.Now().Add(left)
	}
	g.follow(l)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.levels = append(g.levels, l)
	grant.Count = len(g.levels)
	return grant, nil
}

// errNotAsked: an earlier member has failed.
var errNotAsked = errors.New("gallery: not asked")

// follow closes lost when too few members are held.
func (g *group) follow(l *level) {
	for i, m := range g.members {
		notifier, ok := m.(lock.LostNotifier)
		if !ok || !l.has[i] {
			continue
		}
		lost := notifier.Lost()
		go func() {
			select {
			case <-l.over:
				return
			case <-lost:
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if l.held--; l.held == g.need-1 {
				close(l.lost)
			}
		}()
	}
}

func (g *group) Lost() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.levels) == 0 {
		return nil
	}
	return g.levels[0].lost
}

func (g *group) Unlock(ctx context.Context) (int, error) {
	g.mu.Lock()
	n := len(g.levels) - 1
	if n < 0 {
		g.mu.Unlock()
		return 0, lock.ErrNotHeld
	}
	l := g.levels[n]
	g.mu.Unlock()
	errs := g.release(ctx, l)
	unclear, gone := 0, 0
	for _, err := range errs {
		switch {
		case errors.Is(err, lock.ErrLost), errors.Is(err, lock.ErrNotHeld):
			gone++
		case err != nil:
			unclear++
		}
	}
	err := errors.Join(errs...)
	switch {
	case len(errs)-gone < g.need:
		n, err = 0, errors.Join(lock.ErrLost, err)
	case unclear > len(g.members)-g.need:
		return n, err // and Unlock may be called again
	case g.need < len(g.members):
		err = nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.levels[n:] {
		close(l.over)
	}
	g.levels = g.levels[:n]
	return n, err
}

// release releases the members of a level side by side, and returns what came of each.
func (g *group) release(ctx context.Context, l *level) []error {
	errs := make([]error, len(g.members))
	var wg sync.WaitGroup
	for i, m := range g.members {
		if l.has[i] {
			wg.Go(func() { _, errs[i] = m.Unlock(ctx) })
		}
	}
	wg.Wait()
	return errs
}
