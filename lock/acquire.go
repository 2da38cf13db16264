package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// undoGrace is the time for which a failed acquire waits for the answer to its
// compensation. The compensation itself goes on.
func (c config) undoGrace() time.Duration { return c.unlockTimeout / 10 }

// errWaitOver ends the context of a bounded wait.
var errWaitOver = errors.New("lock: the wait is over")

// acquire takes one hold. It waits until ctx ends (forever) or for the wait of
// a, which it exceeds by at most undoGrace.
func (s *state) acquire(ctx context.Context, a Acquire, forever bool) (Grant, *holding, error) {
	start := time.Now()
	g, cur, err := s.wait(ctx, a, forever)
	if f := s.c.cfg.observer.AcquireDone; f != nil {
		f(ctx, AcquireResult{Name: s.key.name, Owner: s.key.owner, Grant: g, Took: time.Since(start), Err: err})
	}
	return g, cur, err
}

// waiting is an acquire under way.
type waiting struct {
	lease   time.Duration
	renewed bool
	w       *waiter // from the first sleep on
	last    tried   // the last attempt
	copied  uint64  // serial of the last request with a copy that may still be on its way
	refusal error   // the error of a wait that runs out
	refused bool
}

// wait is acquire without its observer.
func (s *state) wait(ctx context.Context, a Acquire, forever bool) (_ Grant, _ *holding, failure error) {
	q := waiting{lease: a.Lease, refusal: ErrBusy}
	if q.lease == 0 {
		q.lease, q.renewed = s.c.cfg.lease, true
	} else if err := checkLease(q.lease, time.Millisecond); err != nil {
		return Grant{}, nil, err
	}
	s.c.learnShards(ctx, s.names.lock)
	start := time.Now()
	once := !forever && a.Wait <= 0
	op, cancel := s.c.boundWait(ctx, a.Wait, forever)
	defer cancel()
	if s.fair && !once {
		s.enqueue()
	}
	defer func() { failure = s.endWait(ctx, op, &q, failure) }()
	for {
		t := s.try(op, q.lease, q.renewed)
		q.copied = max(q.copied, t.copied)
		if t.busy && s.place != nil {
			q.refused = true
			s.sayBusy()
			if t = s.turn(op, q.renewed, t.pttl); !t.granted && !t.again {
				q.last = t
				return Grant{}, nil, s.c.failed(ctx, op, ErrBusy, nil)
			}
		}
		q.last = t
		switch {
		case t.granted:
			if f := s.c.cfg.observer.Acquired; f != nil {
				f(s.key.name, s.key.owner, t.grant.Count, time.Since(start))
			}
			return t.grant, t.cur, nil
		case t.again && s.c.life.Err() == nil:
			continue
		case t.acks:
			q.refusal, t.pttl = ErrAcks, -time.Millisecond
		case t.busy:
			q.refusal = ErrBusy
			if q.w != nil {
				q.w.woken = false
			}
			s.sayBusy()
		default:
			return Grant{}, nil, s.attemptFailed(ctx, op, &q)
		}
		q.refused = true
		if once {
			return Grant{}, nil, q.refusal
		}
		if q.w == nil && t.busy {
			var ready bool
			if q.w, ready = s.c.hub.join(s.names.channel); ready {
				continue // earlier releases were not published to us
			}
		}
		if !s.sleep(op, q.w, t.pttl) {
			return Grant{}, nil, s.c.failed(ctx, op, q.refusal, nil)
		}
	}
}

// boundWait returns the context of an acquire's requests. It ends with ctx, with
// the client, and after the wait unless the acquire waits forever. Without a wait
// it gives the server time for one answer.
func (c *Client) boundWait(ctx context.Context, wait time.Duration, forever bool) (context.Context, context.CancelFunc) {
	end := func() {}
	if !c.direct { // otherwise Close would interrupt only between requests
		ctx, end = c.withDone(ctx)
	}
	if forever {
		return ctx, end
	}
	if wait <= 0 {
		wait = c.cfg.unlockTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errWaitOver)
	return ctx, func() { cancel(); end() }
}

// endWait leaves the queue or the hub, and takes back what a late copy of a request
// may still acquire. It returns the error of the acquire.
func (s *state) endWait(ctx, op context.Context, q *waiting, failure error) error {
	switch {
	case s.fair && q.last.granted:
		s.dequeue()
	case s.fair:
		if left := s.quit(ctx, q.lease, q.copied > 0); !left && !errors.Is(failure, ErrUnknown) {
			failure = s.c.failed(ctx, op, ErrBusy, errStillQueued)
		}
	case q.w != nil:
		s.c.hub.leave(q.w, q.last.granted)
	}
	if q.copied > 0 && !q.last.granted && !s.fair && !q.last.compensated {
		s.disown(ctx, undo{q.copied, q.lease})
	}
	return failure
}

// attemptFailed returns the error of an acquire whose last attempt had no answer,
// or one that ends it.
func (s *state) attemptFailed(ctx, op context.Context, q *waiting) error {
	refusal, refused, t := q.refusal, q.refused, q.last
	if t.undone && !refused && s.c.cfg.acks > 0 {
		refusal, refused = ErrAcks, true // the wait has ended before the replicas confirmed
	}
	if (t.undone || errors.Is(t.err, ErrRefused)) && (refused || ctx.Err() != nil || s.c.life.Err() != nil) && op.Err() != nil {
		t.err = nil // the outcome is known
	}
	return s.c.failed(ctx, op, refusal, t.err)
}

func (s *state) sayBusy() {
	if f := s.c.cfg.observer.Busy; f != nil {
		f(s.key.name, s.key.owner)
	}
}

// sleep waits for a reason to try again: a message, the end of the holder's
// lease, or the safety poll. It returns false if op has ended.
func (s *state) sleep(op context.Context, w *waiter, pttl time.Duration) bool {
	s.c.mu.Lock()
	s.draws++
	n := s.draws
	s.c.mu.Unlock()
	poll := s.c.jitter(s.key, n, s.c.cfg.safetyPoll)
	// The server's clock counts in milliseconds: after one more the key has
	// certainly expired. -1 and -2 give no time.
	gone := time.Now().Add(pttl + time.Millisecond)
	next := func() time.Duration {
		if pttl < 0 {
			return poll
		}
		return min(poll, time.Until(gone))
	}
	timer := time.NewTimer(next())
	defer timer.Stop()
	look := timer.C
	var wake, first chan struct{}
	if w != nil {
		wake, first, look = w.wake, w.first, nil
	}
	for {
		select {
		case <-first: // from now on it polls for all waiters
			timer.Reset(next())
			first, look = nil, timer.C
			continue
		case <-wake:
			w.woken = true
		case <-look:
		case <-op.Done():
		case <-s.c.life.Done():
		}
		break
	}
	return op.Err() == nil && s.c.life.Err() == nil
}

// failed returns the reason of a failed acquire: a loss, the caller's context,
// Close, the end of the wait, or err.
func (c *Client) failed(ctx, op context.Context, refusal, err error) error {
	var why error
	switch {
	case errors.Is(err, ErrLost): // certain, whatever has ended since
		return err
	case ctx.Err() != nil:
		why = ctx.Err()
	case c.life.Err() != nil:
		why = ErrClosed
	case op.Err() != nil:
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrRefused) {
			return err
		}
		return refusal
	default:
		return err
	}
	if errors.Is(err, ErrUnknown) {
		return errors.Join(why, ErrUnknown)
	}
	return why
}

// tried is the outcome of one attempt. At most one of granted, busy, acks,
// again and err is set.
type tried struct {
	granted bool
	grant   Grant
	cur     *holding
	busy    bool
	pttl    time.Duration // of the holder's lease
	copied  uint64        // serial of a busy request with a copy that may still be on its way
	acks    bool          // granted, not confirmed, and released
	again   bool          // without effect; try again with a greater serial
	err     error
	// compensated: the attempt is being taken back, and was if undone is set. No
	// earlier request has an effect after that.
	compensated, undone bool
}

// errStillLost: an earlier hold was lost, and Unlock has not returned ErrLost yet.
var errStillLost = fmt.Errorf("acquire lock again: %w", ErrLost)

// errTooLate: the lease of the hold had run out before the answer.
var errTooLate = fmt.Errorf("acquire lock: the answer came after the lease: %w", ErrUnknown)

// try makes one attempt.
func (s *state) try(ctx context.Context, lease time.Duration, renewed bool) tried {
	if err := s.enterGate(ctx); err != nil {
		return tried{err: err}
	}
	handedOn := false // the compensation opens the gate
	defer func() {
		if !handedOn {
			s.leaveGate()
		}
	}()
	if err := s.resolve(ctx); err != nil {
		return tried{err: err}
	}

	s.c.mu.Lock()
	if len(s.holds) > 0 && !time.Now().Before(s.deadline()) {
		after := s.loseByClock()
		s.c.mu.Unlock()
		after()
		s.c.mu.Lock()
	}
	if s.lost {
		s.c.mu.Unlock()
		return tried{err: errStillLost}
	}
	held, cur, serial := len(s.holds), s.cur, s.newSerial()
	before := s.place.ask(serial)
	var id uint64
	if held > 0 {
		id = cur.id
	}
	s.c.mu.Unlock()

	sent := time.Now()
	h := hold{lease: lease, renewed: renewed, until: sent.Add(lease)}
	reply, err := s.sendAcquire(ctx, serial, id, lease, held)
	switch {
	case errors.Is(err, ErrRefused):
		s.place.refused(before)
		return tried{err: fmt.Errorf("acquire lock: %w", err)}
	case err != nil:
		handedOn = true
		undone := s.compensate(ctx, undo{serial, lease})
		return tried{err: unknown("acquire lock", err), compensated: true, undone: undone}
	case reply.kind == replyStale:
		// An earlier process with the same id had a clock that was ahead.
		s.c.overtake(reply.serial)
		return tried{again: true}
	case reply.kind == replyBusy && reply.copied:
		return tried{busy: true, pttl: reply.pttl, copied: serial}
	case reply.kind == replyBusy:
		return tried{busy: true, pttl: reply.pttl}
	case reply.kind == replyGone && held > 0:
		return tried{err: s.gone(cur)}
	case reply.kind == replyGone:
		return tried{err: errTooLate}
	case reply.kind == replyCancelled:
		// Cancel is for a request that was given up, and this one was not.
		return tried{err: fmt.Errorf("acquire lock: %w", ErrUnknown)}
	}
	if s.c.cfg.acks > reply.acked {
		handedOn = true
		s.compensate(ctx, undo{serial, lease})
		return tried{acks: true, compensated: true}
	}

	grant, cur, ok := s.granted(h, serial, reply, sent, held, cur)
	if !ok {
		handedOn = true
		s.compensate(ctx, undo{serial, lease})
		if held > 0 {
			return tried{err: errStillLost, compensated: true}
		}
		return tried{err: errTooLate, compensated: true}
	}
	return tried{granted: true, grant: grant, cur: cur}
}

// granted enters a hold that the server granted. It returns false if the hold
// is useless: its lease has run out on the way, or the holds below it were
// lost.
func (s *state) granted(h hold, serial uint64, reply acquireReply, sent time.Time, held int, cur *holding) (Grant, *holding, bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if held > 0 && (s.cur != cur || s.lost) {
		return Grant{}, nil, false
	}
	before := s.renewed
	s.holds = append(s.holds, h)
	if until := sent.Add(h.lease); h.renewed && until.After(s.renewed) { // a renewal may have overtaken it
		s.renewed = until
	}
	if !time.Now().Before(s.deadline()) {
		s.holds = s.holds[:held]
		s.renewed = before
		return Grant{}, nil, false
	}
	if held == 0 {
		s.cur = &holding{id: cmp.Or(reply.hold, serial), token: reply.token, since: time.Now(), lost: make(chan struct{})}
	}
	s.settle()
	g := Grant{Count: held + 1, Token: s.cur.token, Lease: h.lease, Renewed: h.renewed}
	if !h.renewed {
		g.Until = h.validUntil()
	}
	return g, s.cur, true
}

// gone handles a nested acquire that found no holds below it. This owner must
// learn of the loss, so gone grants nothing.
func (s *state) gone(cur *holding) error {
	s.c.mu.Lock()
	after := func() {}
	if s.cur == cur && !s.lost {
		after = s.lose()
	}
	s.c.mu.Unlock()
	after()
	return errStillLost
}

// unknown wraps the reason of an unknown outcome. It quotes the end of an
// internal context as text only, because the caller's context has not ended.
func unknown(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: no answer in time (%v): %w", what, err, ErrUnknown)
	}
	return fmt.Errorf("%s: %w", what, errors.Join(ErrUnknown, err))
}

// enterGate waits for the end of the owner's open request.
func (s *state) enterGate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select { // usually the gate is free
	case s.gate <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *state) leaveGate() { <-s.gate }
