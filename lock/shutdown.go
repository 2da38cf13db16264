package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// shutdownWorkers is the number of locks that Shutdown releases concurrently.
const shutdownWorkers = 16

// Shutdown releases all holds of the client and closes it. Call it after the
// work under the locks: it ends the contexts of work that still runs. All later
// calls of the client fail, and waiters return [ErrClosed].
//
// Shutdown returns when ctx ends at the latest, apart from the time of
// [Client.Close]. Its error then names the locks that may be held until their
// leases end. It tries to release each lock for the unlock timeout.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	states := make([]*state, 0, len(c.states))
	for _, s := range c.states {
		s.use()
		states = append(states, s)
	}
	c.mu.Unlock()
	c.end()
	slices.SortFunc(states, (*state).compare)

	errs := make([]error, len(states))
	room := make(chan struct{}, shutdownWorkers)
	var wg sync.WaitGroup
	for i, s := range states {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			defer s.leave()
			errs[i] = s.shutdown(ctx)
		})
	}
	wg.Wait()
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		errs = append(errs, err)
	case <-ctx.Done(): // a request of a client without timeouts may still wait for its answer
	}
	return errors.Join(errs...)
}

// shutdown releases all holds of the owner, after the end of its open request. Without
// a hold, it takes an acquire of unknown outcome back.
func (s *state) shutdown(ctx context.Context) error {
	until := time.Now().Add(s.c.cfg.unlockTimeout)
	if err := s.enterGate(ctx, until); err != nil {
		return fmt.Errorf("release %q: %w", s.key.name, unknown("release lock", err))
	}
	defer s.leaveGate()
	s.c.mu.Lock()
	g := s.open
	if s.isHeld() {
		s.cur.count = 1 // the others go with it
		g = s.newRelease()
	}
	s.c.mu.Unlock()
	if g == nil || g.answered {
		return nil
	}
	found, err := s.send(ctx, until, g)
	s.c.mu.Lock()
	after := func() {}
	if g.isRelease {
		after, err = s.released(g, found, err)
	} else if err != nil {
		err = unknown("release lock", err)
	}
	s.c.mu.Unlock()
	after()
	switch {
	case errors.Is(err, ErrNotHeld) || errors.Is(err, ErrLost) || errors.Is(err, errOverruled):
		return nil // it has no owner
	case err != nil:
		return fmt.Errorf("release %q: %w", s.key.name, err)
	}
	return nil
}
