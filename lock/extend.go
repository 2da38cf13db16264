package lock

import (
	"context"
	"fmt"
	"time"
)

// validity is the end of the owner's holds without a renewal or extension. It is
// zero without a hold.
func (s *state) validity() time.Time {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.deadline()
}

// extend makes the innermost hold last for at least d from now.
func (s *state) extend(ctx context.Context, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("lock: an extension by %v is below 1ms", d)
	case d > leaseMax:
		return fmt.Errorf("lock: an extension by %v is above 100 years", d)
	}
	op, cancel := s.c.withDone(ctx)
	defer cancel()
	op, stop := context.WithTimeout(op, s.c.cfg.unlockTimeout)
	defer stop()
	if err := s.enterGate(op); err != nil {
		return s.c.failed(ctx, op, err, err)
	}
	defer s.leaveGate()
	s.expire() // what is over by the clock is over, though its timer may run only later
	s.c.mu.Lock()
	n, cur := len(s.holds), s.cur
	switch {
	case s.lost:
		s.c.mu.Unlock()
		return fmt.Errorf("extend lock: %w", ErrLost)
	case n == 0 || s.holds[n-1].releasing:
		s.c.mu.Unlock()
		return fmt.Errorf("extend lock: %w", ErrNotHeld)
	}
	r := &renewal{s: s, cur: cur, last: s.last, lease: d}
	s.c.mu.Unlock()

	sent := time.Now()
	s.c.sendRenewals(op, []*renewal{r}, true)
	if r.err != nil {
		return s.c.failed(ctx, op, r.err, unknown("extend lock", r.err))
	}
	s.c.mu.Lock()
	if s.cur != cur || s.lost || len(s.holds) != n {
		s.c.mu.Unlock()
		return fmt.Errorf("extend lock: %w", ErrLost)
	}
	if !r.held {
		after := s.lose()
		s.c.mu.Unlock()
		after()
		return fmt.Errorf("extend lock: %w", ErrLost)
	}
	if h := &s.holds[n-1]; sent.Add(d).After(h.until) {
		h.until, h.lease = sent.Add(d), d
	}
	s.settle()
	s.c.mu.Unlock()
	return nil
}
