package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// shutdownWorkers is how many locks Shutdown releases at the same time.
const shutdownWorkers = 16

// Shutdown releases everything that the client holds, and closes it. Call it when
// the work under the locks is over: whoever still works is told by the end of its
// context. No call of the client succeeds from here on; waiters return
// [ErrClosed].
//
// It returns when ctx ends at the latest, apart from what [Client.Close] waits
// for, and then says which locks may be held until their leases end. Each lock is
// tried for as long as an unlock.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.dog.stop()
	states := make([]*state, 0, len(c.states))
	for _, s := range c.states {
		s.use()
		states = append(states, s)
	}
	c.mu.Unlock()
	c.end()
	slices.SortFunc(states, func(a, b *state) int {
		return cmp.Or(cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.owner, b.key.owner))
	})

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
	return errors.Join(append(errs, c.Close())...)
}

// shutdown gives back all that the owner has, once its request under way has ended.
func (s *state) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.cfg.unlockTimeout)
	defer cancel()
	if err := s.enterGate(ctx); err != nil {
		return fmt.Errorf("release %q: %w", s.key.name, err)
	}
	defer s.leaveGate()
	s.c.mu.Lock()
	n := len(s.holds)
	lost := s.lost
	s.c.mu.Unlock()
	if n == 0 || lost {
		return nil
	}
	_, err := s.giveBack(ctx, n, true)
	switch {
	case errors.Is(err, ErrNotHeld) || errors.Is(err, ErrLost):
		return nil // it is nobody's
	case err != nil:
		return fmt.Errorf("release %q: %w", s.key.name, err)
	}
	return nil
}
