package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// waiting is an acquire under way.
type waiting struct {
	lease   time.Duration
	renewed bool
	once    bool    // it does not wait
	w       *waiter // from the first sleep on
	last    attempt
	busy    int   // attempts that found the lock held by another owner
	refusal error // why the lock was not granted, by the last answer of a server
}

// outcome is that of one attempt to acquire.
type outcome int

const (
	failed      outcome = iota // err says why
	granted                    // grant and cur are set
	busy                       // another owner's lease ends in pttl
	unconfirmed                // granted, not confirmed by enough replicas, and given back
	again                      // without effect: a greater serial is needed
)

// attempt is one attempt to acquire.
type attempt struct {
	outcome outcome
	grant   Grant
	cur     *holding
	pttl    time.Duration // -1ms if unknown
	err     error
	// takeBack is the request of an attempt that failed although a server may have
	// executed it; nil for none.
	takeBack  *request
	transient bool // another attempt may not fail
}

// errWaitOver ends the context of a bounded wait.
var errWaitOver = errors.New("lock: the wait is over")

// acquire takes one hold. It waits until ctx ends (forever) or for the wait of
// a, which it exceeds by at most the grace of a give-back.
func (s *state) acquire(ctx context.Context, a Acquire, forever bool) (Grant, *holding, error) {
	start := time.Now()
	q := &waiting{lease: a.Lease, once: !forever && a.Wait <= 0}
	if q.lease == 0 {
		q.lease, q.renewed = s.c.cfg.lease, true
	}
	g, cur, err := Grant{}, (*holding)(nil), checkLease(q.lease, time.Millisecond)
	if err == nil {
		op, cancel := s.c.boundWait(ctx, a.Wait, forever)
		g, cur, err = s.wait(ctx, op, q, a.hasty)
		cancel()
	}
	s.c.cfg.observer.AcquireDone(ctx, AcquireResult{
		Name: s.key.name, Owner: s.key.owner, Grant: g, Took: time.Since(start), Busy: q.busy, Err: err,
	})
	return g, cur, err
}

// boundWait returns the context of an acquire's requests. It ends with ctx, with
// the client, and after the wait unless the acquire waits forever. Without a wait
// it gives the servers the unlock timeout for one answer.
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

// wait makes attempts until one is granted, fails for certain, or op ends. Then it leaves
// the queue or the hub, and takes back what the last attempt may have acquired. A hasty
// acquire does not wait for the answer to that.
func (s *state) wait(ctx, op context.Context, q *waiting, hasty bool) (Grant, *holding, error) {
	s.c.learnShards(op, s.names.lock)
	if s.fair && !q.once {
		s.enqueue()
	}
	for s.tryAgain(op, q) {
	}
	got := q.last.outcome == granted
	queued := s.dequeue() && !got
	if q.w != nil {
		s.c.hub.leave(q.w, got)
	}
	if got {
		return q.last.grant, q.last.cur, nil
	}
	s.c.mu.Lock()
	copied := s.late && s.cur == nil
	s.c.mu.Unlock()
	r := q.last.takeBack
	if r == nil && (queued || copied) {
		r = &request{lease: q.lease, count: 1}
	}
	done := r == nil || s.takeBack(r, hasty)
	return Grant{}, nil, s.reason(ctx, op, q, done)
}

// tryAgain makes an attempt and waits for a reason to make another. It returns false if
// there is none.
func (s *state) tryAgain(op context.Context, q *waiting) bool {
	t := s.try(op, q)
	if t.outcome != failed || t.takeBack != nil || q.last.takeBack == nil {
		q.last = t // else a server may have executed the earlier request, and this one says nothing about it
	}
	switch t.outcome {
	case granted:
		return false
	case again:
		return s.c.life.Err() == nil
	case busy:
		q.refusal = ErrBusy
		if q.w != nil {
			q.w.woken = false
		}
		q.busy++
	case unconfirmed: // the message of the give-back is no reason to try again
		q.refusal = ErrAcks
		return !q.once && s.rest(op, nil, t.pttl)
	case failed:
		// An outage ends no wait in which a server has answered before.
		if (q.refusal == nil || !t.transient) && !s.c.isNotNow(t.err) {
			return false
		}
	}
	switch {
	case q.once:
		return false
	case s.place != nil:
		g, cur, more := s.turn(op, q.renewed, t.pttl)
		if cur != nil {
			q.last = attempt{outcome: granted, grant: g, cur: cur}
		}
		return more
	case q.w == nil && t.outcome == busy:
		var ready bool
		if q.w, ready = s.c.hub.join(s.names.channel); ready {
			return true // earlier releases were not published to us
		}
	}
	return s.rest(op, q.w, t.pttl)
}

// reason returns the error of an acquire that ends without a grant. done means that no
// request of it has an effect any more.
func (s *state) reason(ctx, op context.Context, q *waiting, done bool) error {
	err, why := q.last.err, q.refusal
	closed := s.c.life.Err() != nil
	switch {
	case errors.Is(err, ErrLost): // certain, whatever has ended since
		return err
	case ctx.Err() != nil:
		why = ctx.Err()
	case closed:
		why = ErrClosed
	case op.Err() == nil && err != nil && (done || errors.Is(err, ErrUnknown)):
		return err
	case why == nil && q.last.takeBack != nil && done && s.c.cfg.acks > 0:
		why = ErrAcks // the wait has ended before the replicas confirmed
	}
	var refusal redis.Error
	switch {
	case why == nil && done && s.c.isNotNow(err) && errors.As(err, &refusal):
		return because("acquire lock", ErrRefused, refusal) // it is certain by now
	case why == nil && (done || errors.Is(err, ErrUnknown)):
		return err
	case done:
		return why
	case ctx.Err() != nil || closed:
		return errors.Join(why, ErrUnknown)
	case errors.Is(err, ErrUnknown):
		return err
	}
	return errStillOpen
}

// errStillOpen: the owner may have been granted or handed the lock since, without knowing it.
var errStillOpen = fmt.Errorf("take an acquire back: no answer in time: %w", ErrUnknown)

// rest waits for a reason to try again: a message, the end of the holder's
// lease, or the safety poll. It returns false if op has ended.
func (s *state) rest(op context.Context, w *waiter, pttl time.Duration) bool {
	s.c.mu.Lock()
	s.draws++
	poll := s.c.jitter(s.key, s.draws, s.c.cfg.safetyPoll)
	s.c.mu.Unlock()
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
		return op.Err() == nil && s.c.life.Err() == nil
	}
}

// errStillLost: an earlier hold was lost, and Unlock has not returned ErrLost yet.
var errStillLost = fmt.Errorf("acquire lock again: %w", ErrLost)

// errTooLate: the lease of the hold had run out before the answer.
var errTooLate = fmt.Errorf("acquire lock: the answer came after the lease: %w", ErrUnknown)

// try makes one attempt.
func (s *state) try(ctx context.Context, q *waiting) attempt {
	if err := ctx.Err(); err != nil { // before any request
		return attempt{err: because("acquire lock", ErrRefused, err)}
	}
	if err := s.enterGate(ctx, forever); err != nil {
		q.refusal = cmp.Or(q.refusal, ErrBusy) // the owner has another request under way
		return attempt{err: err}
	}
	defer s.leaveGate()
	s.expire() // what is over by the clock is over, though its timer may run only later
	s.c.mu.Lock()
	if s.isLost() {
		s.c.mu.Unlock()
		return attempt{err: errStillLost}
	}
	r, cur := &request{serial: s.c.serial.Add(1), count: 1, lease: q.lease}, s.cur
	if cur != nil {
		r.hold, r.count = cur.id, cur.count+1
	}
	before := s.place.ask(r.serial)
	s.c.mu.Unlock()

	sent := time.Now()
	isEnough := func(tries int, err error) bool {
		return q.refusal == nil && tries >= unsentTries && r.isUnsent() && (q.once || !s.c.isNotNow(err))
	}
	reply, err := persist(ctx, s.c, sent.Add(s.c.cfg.unlockTimeout), isEnough, func(ctx context.Context) (acquireReply, error) {
		return s.sendAcquire(ctx, r)
	})
	if err != nil && r.isUnsent() {
		s.place.refused(before)
		return attempt{err: because("acquire lock", ErrRefused, err), pttl: -time.Millisecond, transient: isTransient(err)}
	}
	if r.hold == 0 && (err != nil || r.isCopied()) {
		s.c.mu.Lock()
		s.late = true
		s.c.mu.Unlock()
	}
	switch {
	case err != nil:
		return attempt{err: unknown("acquire lock", err), pttl: -time.Millisecond, takeBack: r, transient: true}
	case reply.kind == replyStale: // an earlier process with the same id had a clock that was ahead
		s.c.overtake(reply.serial)
		return attempt{outcome: again}
	case reply.kind == replyBusy:
		return attempt{outcome: busy, pttl: reply.pttl}
	case reply.kind == replyGone && cur != nil:
		return s.missing(cur)
	case reply.kind == replyGone:
		return attempt{err: errTooLate, takeBack: r}
	case s.c.cfg.acks > reply.acked:
		s.takeBack(r, false)
		return attempt{outcome: unconfirmed, pttl: -time.Millisecond}
	}
	if err := ctx.Err(); err != nil { // the caller may not look at a grant any more
		return attempt{err: unknown("acquire lock", err), takeBack: r}
	}
	s.expire()
	return s.enterHold(r, q, cur, reply, sent)
}

// enterHold enters a hold that the server granted for a request of sent. The hold is
// useless if its lease has run out on the way, the holds below it were lost, or the client
// was closed.
func (s *state) enterHold(r *request, q *waiting, cur *holding, reply acquireReply, sent time.Time) attempt {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch {
	case cur != nil && !s.has(cur):
		return attempt{err: errStillLost, takeBack: r}
	case s.c.closed: // no call could release it
		return attempt{err: ErrClosed, takeBack: r}
	}
	if cur == nil {
		cur = newHolding(reply.hold, reply.token)
	}
	until := cur.until
	cur.raise(sent, r.lease)
	if !time.Now().Before(cur.until) {
		cur.until = until
		return attempt{err: errTooLate, takeBack: r}
	}
	cur.count = r.count
	if q.renewed && !cur.renewed {
		cur.renewed, s.due = true, sent.Add(r.lease/3)
	}
	s.cur, s.open = cur, nil
	s.settle()
	g := Grant{Count: cur.count, Token: cur.token, Lease: r.lease, Renewed: cur.renewed}
	if !g.Renewed {
		g.Until = cur.until
	}
	return attempt{outcome: granted, grant: g, cur: cur}
}

// missing handles a nested acquire that found no holds below it. This owner must
// learn of the loss, so it grants nothing.
func (s *state) missing(cur *holding) attempt {
	after := func() {}
	s.c.mu.Lock()
	if s.has(cur) {
		after = s.lose()
	}
	s.c.mu.Unlock()
	after()
	return attempt{err: errStillLost}
}

// unknown wraps the reason of an unknown outcome.
func unknown(what string, err error) error { return because(what, ErrUnknown, err) }

// because joins a sentinel and its reason. It quotes the end of an internal context as
// text only, because the caller's context has not ended.
func because(what string, sentinel, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: no answer in time (%v): %w", what, err, sentinel)
	}
	return fmt.Errorf("%s: %w", what, errors.Join(sentinel, err))
}

// enterGate waits for the end of the owner's open request, until ctx ends or the time has
// come.
func (s *state) enterGate(ctx context.Context, until time.Time) error {
	select { // usually the gate is free
	case s.gate <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *state) leaveGate() { <-s.gate }
