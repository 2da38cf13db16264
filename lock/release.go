package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// giveBack is a release, or takes back an acquire without an answer. A later request of
// the owner overrules it.
type giveBack struct {
	serial    uint64
	hold      uint64    // 0: whatever stands in the owner's name
	left      int       // holds afterwards
	until     time.Time // end of the lease on the server at the latest; forever for an inner hold
	released  *holding  // of a last release; nil otherwise
	isRelease bool
	tries     int
	repeated  bool // goes on without its owner, who may call again
	answered  bool // by the server, after the owner got ErrUnknown
}

// takeBack takes a request to acquire back, independently of its caller. It waits for the
// answer for the grace, unless it is hasty, and reports whether it came. Then it goes on
// until the lease is over, so that a cut that ends before leaves no hold without an owner.
// A copy of the acquire may begin its lease late, when the cut ends. So it goes on for as
// long as a note lasts, at least.
func (s *state) takeBack(r *request, hasty bool) (confirmed bool) {
	s.c.mu.Lock()
	g := &giveBack{serial: s.c.serial.Add(1), hold: r.hold, left: r.count - 1, until: time.Now().Add(max(r.lease, noteTime))}
	s.open = g
	s.use()
	s.c.mu.Unlock()
	done := make(chan bool, 1)
	go func() {
		defer s.leave()
		_, err := s.send(context.Background(), time.Now().Add(s.c.cfg.unlockTimeout), g)
		done <- err == nil
		if err != nil {
			s.repeat(g)
		}
	}()
	if hasty {
		return false
	}
	select {
	case confirmed = <-done:
	case <-time.After(s.c.cfg.grace()):
	}
	return confirmed
}

// send sends a give-back until a server answers it, ctx ends, the time has come, or a later
// request of the owner overrules it.
func (s *state) send(ctx context.Context, until time.Time, g *giveBack) (found bool, err error) {
	found, err = persist(ctx, s.c, until, nil, func(ctx context.Context) (bool, error) {
		s.c.mu.Lock()
		if s.open != g {
			s.c.mu.Unlock()
			return false, errOverruled
		}
		left := g.left
		if !g.isRelease && !s.isHeld() {
			left = 0 // the holds below it were lost
		}
		g.tries++
		s.c.mu.Unlock()
		return s.sendGiveBack(ctx, g, left)
	})
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if err != nil || s.open != g {
		return found, err
	}
	if g.left == 0 {
		s.late = false
	}
	if !g.isRelease {
		s.open = nil
		if s.place != nil {
			s.place.in = false
		}
	}
	return found, nil
}

// repeat goes on with a give-back that got no answer in time, until its lease is over or
// the client is closed.
func (s *state) repeat(g *giveBack) {
	_, err := s.send(s.c.life, g.until, g)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.open != g {
		return
	}
	switch {
	case err == nil:
		g.answered = true
	case s.c.life.Err() == nil: // otherwise Shutdown makes one more attempt
		s.open = nil
	}
	s.settle()
}

// release releases the innermost hold, or repeats the release that was not answered; see
// [Locker].
func (s *state) release(ctx context.Context) (left int, err error) {
	s.c.mu.Lock()
	cur := s.cur
	if cur == nil && s.open != nil {
		cur = s.open.released
	}
	s.c.mu.Unlock()
	whole, until := context.WithoutCancel(ctx), time.Now().Add(s.c.cfg.unlockTimeout)
	if err = s.enterGate(whole, until); err != nil {
		err = unknown("release lock", err)
	} else {
		left, err = s.releaseWithin(whole, until)
		s.leaveGate()
	}
	r := ReleaseResult{Name: s.key.name, Owner: s.key.owner, Left: left, Err: err}
	if cur != nil {
		r.Held = time.Since(cur.since)
	}
	s.c.cfg.observer.ReleaseDone(ctx, r)
	return left, err
}

// releaseWithin is release until the time has come. The caller holds the gate.
func (s *state) releaseWithin(ctx context.Context, until time.Time) (left int, err error) {
	s.expire() // what is over by the clock is over, though its timer may run only later
	s.c.mu.Lock()
	g := s.open
	switch {
	case s.isLost():
		defer s.c.mu.Unlock()
		s.countLoss()
		return 0, errReleaseLost
	case g != nil && g.isRelease && g.answered:
		s.open = nil
		s.settle()
		s.c.mu.Unlock()
		return g.left, nil
	case g != nil && g.isRelease: // once more
		s.c.mu.Unlock()
	case s.cur == nil:
		s.c.mu.Unlock()
		if g != nil && g.hold == 0 { // an acquire of unknown outcome, and not what was lost
			if _, err := s.send(ctx, until, g); err != nil && !errors.Is(err, errOverruled) {
				return 0, unknown("release lock", err)
			}
		}
		return 0, fmt.Errorf("release lock: %w", ErrNotHeld)
	default:
		g = s.newRelease()
		s.c.mu.Unlock()
	}
	found, err := s.send(ctx, until, g)
	s.c.mu.Lock()
	after, err := s.released(g, found, err)
	s.c.mu.Unlock()
	after()
	if err != nil && !errors.Is(err, ErrUnknown) {
		return 0, err
	}
	return g.left, err
}

// errReleaseLost: the hold was lost before its release.
var errReleaseLost = fmt.Errorf("release lock: %w", ErrLost)

// countLoss records that an Unlock reports the loss of one hold. The caller holds mu.
func (s *state) countLoss() {
	if s.cur.count--; s.cur.count == 0 {
		s.cur = nil
		s.settle()
	}
}

// newRelease takes one hold off the holding, and the last one off the state, so that
// nothing renews it. The caller holds mu.
func (s *state) newRelease() *giveBack {
	cur := s.cur
	cur.count--
	g := &giveBack{serial: s.c.serial.Add(1), hold: cur.id, left: cur.count, until: cur.serverEnd(), isRelease: true}
	if g.left == 0 {
		g.released = cur
		s.cur = nil
	} else { // it is open while its hold is: renewals go on, and so may the lease
		g.until = forever
	}
	s.open = g
	s.settle()
	return g
}

// released processes the outcome of a release. The caller holds mu, and calls after
// without it.
func (s *state) released(g *giveBack, found bool, err error) (after func(), _ error) {
	cur := g.released
	if errors.Is(err, errOverruled) && s.isLost() { // the lease has ended meanwhile
		s.countLoss()
		return func() {}, errReleaseLost
	}
	if err != nil {
		after = func() {}
		if cur != nil {
			after = cur.end(ErrUnknown)
		}
		if s.open == g && !s.c.closed && !g.repeated {
			g.repeated = true
			s.use()
			go func() {
				defer s.leave()
				s.repeat(g)
			}()
		}
		return after, unknown("release lock", err)
	}
	if s.open == g {
		s.open = nil
	}
	switch {
	case found && cur == nil:
		return func() {}, nil
	case found:
		return cur.end(ErrNotHeld), nil
	case cur != nil && g.tries > 1:
		// An earlier try has arrived, and the lock was released again since; or the hold was lost.
		return cur.end(ErrNotHeld), fmt.Errorf("release lock: %w", ErrNotHeld)
	case cur != nil:
		return s.endAsLost(cur), errReleaseLost
	case s.isHeld():
		return s.lose(), errReleaseLost
	}
	return func() {}, errReleaseLost
}
