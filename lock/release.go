package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// retryPause and retryPauseMax bound the pause between tries of a release.
	retryPause    = 50 * time.Millisecond
	retryPauseMax = time.Second
)

// retry runs f until it succeeds or ctx ends, and returns the error of its last
// run.
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

// compensate takes back an acquire, independently of its caller. It returns when
// that is done or after undoGrace, and reports whether the server has confirmed
// it. The caller holds the gate, which opens when the compensation ends.
func (s *state) compensate(ctx context.Context, u undo) (confirmed bool) {
	s.c.mu.Lock()
	if s.fair { // looks have greater serials than the acquire
		u.serial = s.newSerial()
	}
	s.undo = &u
	s.refs++
	s.c.mu.Unlock()
	done := make(chan bool, 1)
	s.c.ops.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.c.cfg.unlockTimeout)
		defer cancel()
		patience := s.c.cfg.undoGrace() // so that one dead connection does not cost all the time
		err := retry(ctx, func() error {
			once, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			patience *= 2
			return s.sendUndo(once)
		})
		s.c.mu.Lock()
		if u := s.undo; err != nil && u != nil && !s.c.closed {
			s.c.ops.Go(func() { s.undoLater(u) })
		}
		s.refs--
		s.drop()
		s.c.mu.Unlock()
		s.leaveGate()
		done <- err == nil
	})
	if ctx.Value(noGrace{}) != nil {
		return false
	}
	timer := time.NewTimer(s.c.cfg.undoGrace())
	defer timer.Stop()
	select {
	case confirmed = <-done:
	case <-timer.C:
	}
	return confirmed
}

// disown makes sure that a late copy of a refused acquire has no effect. The Redis
// client sends a request again if it gets no answer, and the answer to the second
// one says nothing about the first.
func (s *state) disown(ctx context.Context, u undo) {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.cfg.undoGrace())
	defer cancel()
	if s.enterGate(wait) == nil { // otherwise the owner's next request comes first
		s.compensate(ctx, u)
	}
}

// undoLater repeats a failed compensation of an acquire once per retryPauseMax. It
// ends when the server answers, the owner's next request has done the work, the
// client is closed, or the requested lease is over. So a cut that ends before the
// lease leaves no hold without an owner.
func (s *state) undoLater(u *undo) {
	ctx, cancel := context.WithTimeout(s.c.life, u.lease)
	defer cancel()
	open := func() bool {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		return s.undo == u
	}
	ticks := time.NewTicker(retryPauseMax)
	defer ticks.Stop()
	for open() && ctx.Err() == nil {
		select {
		case <-ticks.C:
			s.undoOnce(ctx)
		case <-ctx.Done():
		}
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.undo == u && s.c.life.Err() == nil { // otherwise Shutdown makes one more attempt
		s.undo = nil
	}
	s.drop()
}

// undoOnce makes one attempt to take back the acquire in s.undo. It delays the
// owner's next request by at most undoGrace.
func (s *state) undoOnce(ctx context.Context) {
	if s.enterGate(ctx) != nil {
		return
	}
	defer s.leaveGate()
	ctx, cancel := context.WithTimeout(ctx, s.c.cfg.undoGrace())
	defer cancel()
	_ = s.sendUndo(ctx) // the next attempt follows
}

// sendUndo makes one attempt to take back the acquire in s.undo. The caller holds
// the gate.
func (s *state) sendUndo(ctx context.Context) error {
	s.c.mu.Lock()
	u, held, owed := s.undo, len(s.holds), s.owed(time.Now())
	s.c.mu.Unlock()
	if u == nil {
		return nil
	}
	if err := s.sendCancel(ctx, *u, held, owed); err != nil {
		return unknown("take back acquire", err)
	}
	s.c.mu.Lock()
	s.undo = nil
	if s.place != nil {
		s.place.in = false
	}
	s.c.mu.Unlock()
	return nil
}

// resolve settles the open outcomes of earlier requests, so that the count on the
// server is known. The caller holds the gate.
func (s *state) resolve(ctx context.Context) error {
	if err := s.sendUndo(ctx); err != nil {
		return err
	}
	s.c.mu.Lock()
	open := s.giving.levels
	s.c.mu.Unlock()
	if open == 0 {
		return nil
	}
	_, err := s.giveBack(ctx, open, false)
	if errors.Is(err, ErrUnknown) {
		return err
	}
	return nil
}

// release releases the innermost holds: those whose release was not answered, and
// levels more, but at least one; see [Locker].
func (s *state) release(ctx context.Context, levels int) (int, error) {
	s.c.mu.Lock()
	cur := s.cur
	s.c.mu.Unlock()
	op, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.cfg.unlockTimeout)
	defer cancel()
	left, err := s.releaseWithin(op, levels)
	if f := s.c.cfg.observer.ReleaseDone; f != nil {
		r := ReleaseResult{Name: s.key.name, Owner: s.key.owner, Left: left, Err: err}
		if cur != nil {
			r.Held = time.Since(cur.since)
		}
		f(ctx, r)
	}
	return left, err
}

// releaseWithin is release, retried until ctx ends.
func (s *state) releaseWithin(ctx context.Context, levels int) (int, error) {
	if err := s.enterGate(ctx); err != nil {
		return 0, unknown("release lock", err)
	}
	defer s.leaveGate()

	s.expire() // what is over by the clock is over, though its timer may run only later
	s.c.mu.Lock()
	n, undo := len(s.holds), s.undo
	levels = max(s.giving.levels+levels, 1)
	if s.lost {
		defer s.c.mu.Unlock()
		s.lost, s.cur = false, nil
		return 0, fmt.Errorf("release lock: %w", ErrLost)
	}
	s.c.mu.Unlock()
	if undo != nil {
		// A hold that is held for certain is released in any case: releasing
		// the last one frees the lock whatever the count is.
		if err := s.sendUndo(ctx); err != nil && n == 0 {
			return 0, err
		}
	}
	left, err := s.giveBack(ctx, min(levels, n), true)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if errors.Is(err, ErrLost) && s.lost {
		s.lost, s.cur = false, nil // its owner has learned of it
	}
	return left, err
}

// giveBack releases the innermost levels holds. It takes them off the watchdog
// before the request, and no renewal is open meanwhile, so none can reach the
// server later. A request without an answer leaves the holds as they are, but
// unrenewed; the next call repeats the request, or sends one that releases more.
// A loss that it finds stays one: the owner's next release reports it. The caller
// holds the gate.
func (s *state) giveBack(ctx context.Context, levels int, persist bool) (int, error) {
	s.c.mu.Lock()
	n := len(s.holds)
	if n == 0 { // perhaps its lease has ended since the caller looked
		defer s.c.mu.Unlock()
		if s.lost {
			return 0, fmt.Errorf("release lock: %w", ErrLost)
		}
		return 0, fmt.Errorf("release lock: %w", ErrNotHeld)
	}
	left, cur, renews := n-levels, s.cur, s.renews
	again := s.giving.levels > 0
	if s.giving.levels != levels {
		s.giving = giving{s.newSerial(), levels}
		s.inherit(left)
		for i := left; i < n; i++ {
			s.holds[i].releasing = true
		}
	}
	serial := s.giving.serial
	after := func() {}
	var outer time.Time // when outer holds that are lost by now end on the server
	if left > 0 && !time.Now().Before(s.deadline()) {
		// The outer holds have outlived their leases, and only these have kept the lock:
		// they are lost from here on. The release names the rest of their leases to the
		// server, so that no other owner has the lock before.
		for _, h := range s.holds[:left] {
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
		found, err = s.sendRelease(ctx, serial, cur.id, left, owed)
		return err
	}
	var err error
	if persist {
		err = retry(ctx, send)
	} else {
		err = send()
	}

	s.c.mu.Lock()
	ended, err := s.released(cur, n, left, found, again, owed, err)
	s.c.mu.Unlock()
	ended()
	if err != nil && !errors.Is(err, ErrUnknown) {
		left = 0
	}
	return left, err
}

// inherit keeps the lease of the holds above left for the renewed ones below. Their
// release leaves the lock as it is until the next renewal would come. The holds above may
// have kept it while no renewal came through. The caller holds mu.
func (s *state) inherit(left int) {
	if !slices.ContainsFunc(s.holds[:left], func(h hold) bool { return h.renewed && !h.releasing }) {
		return
	}
	latest := time.Now().Add(s.c.cfg.lease)
	for _, h := range s.holds[left:] {
		until := h.until.Add(margin(s.c.cfg.lease) - margin(h.lease))
		if until.After(latest) {
			until = latest
		}
		if !h.releasing && until.After(s.renewed) {
			s.renewed = until
		}
	}
}

// released processes the outcome of a release that leaves left of n holds. The
// caller holds mu, and calls after without it.
func (s *state) released(cur *holding, n, left int, found, again bool, owed time.Duration, err error) (after func(), _ error) {
	after = func() {}
	current := s.cur == cur && len(s.holds) == n && !s.lost
	switch {
	case err != nil:
		if current && left == 0 {
			after = cur.end(ErrUnknown)
		}
		return after, unknown("release lock", err)
	case !current && found:
		return after, nil // the lease ended while it was being released
	case !current:
		return after, fmt.Errorf("release lock: %w", ErrLost)
	case !found && again && left == 0:
		// An earlier try of this release has arrived, or the lease has ended.
		return s.lose(), fmt.Errorf("release lock: %w", ErrNotHeld)
	case !found:
		s.holds[0].releasing = false
		return s.lose(), fmt.Errorf("release lock: %w", ErrLost)
	}
	s.holds, s.giving = s.holds[:left], giving{} // giveBack has settled without the others
	switch {
	case left == 0:
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
	}
	return after, nil
}
