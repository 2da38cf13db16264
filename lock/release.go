package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// retryPause and retryPauseMax bound the pause between tries of a release.
	retryPause    = 50 * time.Millisecond
	retryPauseMax = time.Second
)

// retry runs f until it succeeds or ctx ends, and returns the error of its
// last run.
func retry(ctx context.Context, f func() error) error {
	pause := retryPause
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause = min(2*pause, retryPauseMax)
	}
}

// compensate takes back an acquire, detached from whoever asked for it. It
// returns when that is done or after undoGrace. The gate is held until the
// compensation ends and then opened.
func (s *state) compensate(ctx context.Context, h hold) {
	s.c.mu.Lock()
	s.undo = &undo{req: h.req, lease: h.lease}
	s.refs++
	s.c.mu.Unlock()
	done := make(chan struct{})
	s.c.ops.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.c.cfg.unlockTimeout)
		defer cancel()
		err := retry(ctx, func() error { return s.sendUndo(ctx) })
		s.c.mu.Lock()
		if u := s.undo; err != nil && u != nil {
			// The lease bounds the damage. Until then, whoever comes next
			// tries again.
			time.AfterFunc(u.lease, func() {
				s.c.mu.Lock()
				if s.undo == u {
					s.undo = nil
					s.drop()
				}
				s.c.mu.Unlock()
			})
		}
		s.refs--
		s.drop()
		s.c.mu.Unlock()
		s.leaveGate()
		close(done)
	})
	if ctx.Value(noGrace{}) != nil {
		return
	}
	timer := time.NewTimer(s.c.cfg.undoGrace())
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// sendUndo asks the server once to take back the acquire in s.undo. The gate
// is held.
func (s *state) sendUndo(ctx context.Context) error {
	s.c.mu.Lock()
	u, owed := s.undo, s.owed(time.Now())
	s.c.mu.Unlock()
	if u == nil {
		return nil
	}
	if _, _, err := s.c.sendGiveBack(ctx, cancelScript, s.names, s.field, u.req, owed, latchFor(u.lease, 0)); err != nil {
		return unknown("take back acquire", err)
	}
	s.c.mu.Lock()
	s.undo = nil
	s.c.mu.Unlock()
	return nil
}

// resolve clears up what earlier requests left open, so that the count on the
// server is known again. The gate is held.
func (s *state) resolve(ctx context.Context) error {
	if err := s.sendUndo(ctx); err != nil {
		return err
	}
	s.c.mu.Lock()
	n := len(s.holds)
	open := n > 0 && s.holds[n-1].releasing
	s.c.mu.Unlock()
	if !open {
		return nil
	}
	_, err := s.giveBack(ctx, false)
	if errors.Is(err, ErrUnknown) {
		return err
	}
	return nil
}

// release gives one hold back; see [Locker].
func (s *state) release(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.cfg.unlockTimeout)
	defer cancel()
	if err := s.enterGate(ctx); err != nil {
		return 0, unknown("release lock", err)
	}
	defer s.leaveGate()

	s.expire() // what is over by the clock is over, though its timer may run only later
	s.c.mu.Lock()
	n, undo := len(s.holds), s.undo
	if s.lost {
		defer s.c.mu.Unlock()
		return 0, s.over()
	}
	s.c.mu.Unlock()
	if undo != nil {
		// A hold that is held for certain is released in any case: releasing
		// the last one frees the lock whatever the count is.
		if err := s.sendUndo(ctx); err != nil && n == 0 {
			return 0, err
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("release lock: %w", ErrNotHeld)
	}
	return s.giveBack(ctx, true)
}

// over is the outcome of a release that finds no hold: a loss is told once.
// Called under mu.
func (s *state) over() error {
	if !s.lost {
		return fmt.Errorf("release lock: %w", ErrNotHeld)
	}
	s.lost, s.cur = false, nil
	return fmt.Errorf("release lock: %w", ErrLost)
}

// giveBack releases the innermost hold. The hold is off the watchdog before
// the request is sent, and no renewal is under way meanwhile, so none can
// reach the server after it. A request without an answer leaves the hold as
// it is, not renewed; the next call sends the same request again. The gate is
// held.
func (s *state) giveBack(ctx context.Context, persist bool) (int, error) {
	s.c.mu.Lock()
	n := len(s.holds)
	if n == 0 { // its lease has ended since the caller looked
		defer s.c.mu.Unlock()
		return 0, s.over()
	}
	top, cur, renews := s.holds[n-1], s.cur, s.renews
	again := top.releasing
	if !again {
		s.holds[n-1].releasing, s.holds[n-1].asked = true, time.Now()
	} else if n > 1 && time.Since(top.asked) >= latchTimeMax/2 {
		// The server may have forgotten that release by the time it gets this
		// one, and would take an outer hold for it. Nobody knows what is left.
		after := s.lose()
		err := s.over()
		s.c.mu.Unlock()
		after()
		return 0, err
	}
	asked := s.holds[n-1].asked
	latch := latchTime
	if n > 1 {
		latch = latchTimeMax
	}
	after := func() {}
	var outer time.Time // when outer holds that are lost by now end on the server
	if n > 1 && !time.Now().Before(s.deadline()) {
		// The outer holds have outlived their leases, and only this one has
		// kept the lock: they are lost from here on. The server is told of what
		// may be left of their leases, so that nobody has the lock before.
		for _, h := range s.holds[:n-1] {
			if h.until.After(outer) {
				outer = h.until
			}
		}
		after = s.lose()
	} else {
		s.settle()
	}
	s.c.mu.Unlock()
	after()
	if renews != nil {
		select {
		case <-renews:
		case <-ctx.Done():
		}
	}

	var found bool
	var owed time.Duration
	send := func() error {
		s.c.mu.Lock()
		sent := time.Now()
		owed = max(s.owed(sent), outer.Sub(sent))
		s.c.mu.Unlock()
		var err error
		found, _, err = s.c.sendGiveBack(ctx, releaseScript, s.names, s.field, top.req, owed, latch)
		return err
	}
	var err error
	if persist {
		err = retry(ctx, send)
	} else {
		err = send()
	}

	s.c.mu.Lock()
	remaining, ended, err := s.released(cur, n, found, again, owed, asked, err)
	s.drop()
	s.c.mu.Unlock()
	ended()
	return remaining, err
}

// released takes over the outcome of a release of the n-th hold. Called under
// mu; after is to be called without.
func (s *state) released(cur *holding, n int, found, again bool, owed time.Duration, asked time.Time, err error) (remaining int, after func(), _ error) {
	after = func() {}
	current := s.cur == cur && len(s.holds) == n && !s.lost
	switch {
	case err != nil:
		if current && n == 1 {
			after = cur.end(ErrUnknown)
		}
		return n - 1, after, unknown("release lock", err)
	case !current && found:
		return n - 1, after, nil // the lease ended while it was being released
	case !current:
		if s.lost && s.cur == cur {
			s.lost, s.cur = false, nil
		}
		return 0, after, fmt.Errorf("release lock: %w", ErrLost)
	case !found && again:
		// An earlier try of this release has arrived, or the lease has ended.
		after = s.lose()
		if s.lost {
			s.lost, s.cur = false, nil
		}
		return 0, after, fmt.Errorf("release lock: %w", ErrNotHeld)
	case !found:
		s.holds[n-1].releasing = false
		after = s.lose()
		s.lost, s.cur = false, nil
		return 0, after, fmt.Errorf("release lock: %w", ErrLost)
	}
	s.holds = s.holds[:n-1]
	switch {
	case n == 1:
		s.settle()
		s.cur = nil
		end := cur.end(ErrNotHeld)
		after = func() {
			end()
			if f := s.c.cfg.observer.Released; f != nil {
				f(s.key.name, s.key.owner, time.Since(cur.since))
			}
		}
	case owed <= 0:
		// The outer holds had outlived their leases: the lock is free now.
		after = s.lose()
	default:
		if until := asked.Add(s.c.cfg.lease); s.kept() && until.After(s.renewed) {
			s.renewed = until // of several tries the first may have set it
		}
		s.settle()
	}
	return n - 1, after, nil
}
