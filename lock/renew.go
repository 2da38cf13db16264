package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchdog renews every hold without a lease of its own, three times per lease. It
// is one timer per client, which runs only while there is something to renew. It
// retries a failed renewal after a tenth of the lease, until the lease has run
// out. In a cluster it sends one request to each node. Guarded by Client.mu.
type watchdog struct {
	count int // states to renew
	timer *time.Timer
	armed bool
	next  time.Time // when timer fires, if armed
}

// watch adds a state to the watchdog or removes it.
func (w *watchdog) watch(s *state, on bool) {
	switch {
	case on == s.watched:
	case on:
		w.count++
		s.watched = true
		w.arm(s.c, s.due)
	default:
		w.count--
		s.watched = false
		w.armed = w.armed && w.count > 0 // a timer without a renewal fires once more, for nothing
	}
}

// arm makes the timer fire at t or earlier.
func (w *watchdog) arm(c *Client, t time.Time) {
	if c.closed || (w.armed && !t.Before(w.next)) {
		return
	}
	w.next, w.armed = t, true
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(t), c.renewDue)
	} else {
		w.timer.Reset(time.Until(t))
	}
}

// renewal is one lock in a batch.
type renewal struct {
	s     *state
	cur   *holding
	node  string // of a cluster, which has the lock
	lease time.Duration
	span  time.Duration // of the lease at the request; that of a place, before the first renewal
	sent  time.Time     // of the last try
	err   error
	held  bool
}

// renewDue renews the holds that are due or will be soon, with one request for
// each server.
func (c *Client) renewDue() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.dog.armed = false
	soon := time.Now().Add(c.cfg.lease / 6)
	var batch []*renewal
	for _, s := range c.states {
		if s.watched && !s.renewing && !s.due.After(soon) {
			batch = append(batch, &renewal{s: s, cur: s.cur, lease: c.cfg.lease, span: min(s.cur.span, c.cfg.lease)})
			s.renewing = true
		}
	}
	c.rearm()
	c.ops.Add(1)
	c.mu.Unlock()
	defer c.ops.Done()

	slices.SortFunc(batch, func(a, b *renewal) int { return a.s.compare(b.s) })
	for _, node := range c.byNode(batch) {
		c.ops.Go(func() { c.renewAt(node) })
	}
}

// byNode divides a batch by the master of each lock in a cluster. The outcome of one node
// says nothing about another.
func (c *Client) byNode(batch []*renewal) (nodes [][]*renewal) {
	if cluster, ok := c.rdb.(*redis.ClusterClient); ok {
		ctx, cancel := context.WithTimeout(c.life, c.cfg.lease/6)
		defer cancel()
		for _, r := range batch {
			if master, err := cluster.MasterForKey(ctx, r.s.names.lock); err == nil {
				r.node = master.Options().Addr
			}
		}
		slices.SortStableFunc(batch, func(a, b *renewal) int { return strings.Compare(a.node, b.node) })
	}
	for i, r := range batch {
		if i == 0 || r.node != batch[i-1].node {
			nodes = append(nodes, nil)
		}
		nodes[len(nodes)-1] = append(nodes[len(nodes)-1], r)
	}
	return nodes
}

// renewAt renews locks on one server.
func (c *Client) renewAt(batch []*renewal) {
	timeout := batch[0].span
	for _, r := range batch {
		timeout = min(timeout, r.span)
	}
	ctx, cancel := context.WithTimeout(c.life, timeout/6)
	open := batch
	for tries := 1; ; tries++ { // some connections of the pool may be dead
		c.sendRenewals(ctx, open)
		open = slices.DeleteFunc(slices.Clone(open), func(r *renewal) bool { return r.err == nil || !isTransient(r.err) })
		if len(open) == 0 || tries > unsentTries || !sleep(ctx, nil, retryPause) {
			break
		}
	}
	cancel()
	for _, r := range batch {
		r.s.expire() // what is over by the clock is over, though its timer may run only later
	}
	var after []func()
	c.mu.Lock()
	now := time.Now()
	for _, r := range batch {
		s := r.s
		s.renewing = false
		switch {
		case !s.has(r.cur):
			// Released or lost meanwhile: the answer is about the past.
			if r.held && r.cur.cause == ErrLost { // it keeps a lost lock from others
				after = append(after, func() { s.takeBack(&request{hold: r.cur.id, count: 1, lease: r.lease}, true) })
			}
		case r.err != nil:
			s.late, s.due = true, now.Add(r.span/10) // it may have arrived, or still do
			after = append(after, func() { c.cfg.observer.RenewDone(s.key.name, s.key.owner, r.err) })
		case r.held:
			s.due = r.sent.Add(c.cfg.lease / 3)
			r.cur.raise(r.sent, r.lease) // the timer of the state fires early, and looks
			after = append(after, func() { c.cfg.observer.RenewDone(s.key.name, s.key.owner, nil) })
		default:
			after = append(after, s.lose())
			s.drop()
		}
	}
	c.rearm()
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// rearm sets the timer to the next renewal, if any. The caller holds mu.
func (c *Client) rearm() {
	var next time.Time
	for _, s := range c.states {
		if s.watched && !s.renewing && (next.IsZero() || s.due.Before(next)) {
			next = s.due
		}
	}
	if !next.IsZero() {
		c.dog.arm(c, next)
	}
}

// extend makes the holding cur, or the current one, last for at least d from now. It ends
// with the holding: no try follows a loss, and no late answer raises the lease.
func (s *state) extend(ctx context.Context, cur *holding, d time.Duration) error {
	if err := checkLease(d, time.Millisecond); err != nil {
		return err
	}
	op, cancel := s.c.withDone(ctx)
	defer cancel()
	s.c.mu.Lock()
	held, until := s.cur, time.Now().Add(s.c.cfg.unlockTimeout)
	if held != nil && held.until.Before(until) {
		until = held.until
	}
	s.c.mu.Unlock()
	if held == nil || cur != nil && held != cur {
		return errNotExtended
	}
	r := &renewal{s: s, cur: held, lease: d}
	_, err := persist(op, s.c, until, func(int, error) bool { return false }, func(ctx context.Context) (struct{}, error) {
		s.expire() // what is over by the clock is over, though its timer may run only later
		s.c.mu.Lock()
		over := !s.has(held)
		s.c.mu.Unlock()
		if over {
			return struct{}{}, errOverruled
		}
		s.c.sendRenewals(ctx, []*renewal{r})
		return struct{}{}, r.err
	})
	s.expire()
	after := func() {}
	s.c.mu.Lock()
	current := s.has(held)
	switch {
	case !current:
	case err != nil:
		s.late = true // it may still arrive
	case r.held:
		held.raise(r.sent, d)
	default:
		after = s.lose()
	}
	lost := held.cause == ErrLost
	s.c.mu.Unlock()
	after()
	if lost && !current && (r.held || r.err != nil) { // it keeps a lost lock from others
		s.takeBack(&request{hold: held.id, count: 1, lease: d}, true)
	}
	switch {
	case lost:
		return fmt.Errorf("extend lock: %w", ErrLost)
	case !current:
		return errNotExtended
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), ErrUnknown)
	case s.c.life.Err() != nil:
		return errors.Join(ErrClosed, ErrUnknown)
	}
	return unknown("extend lock", err)
}

var errNotExtended = fmt.Errorf("extend lock: %w", ErrNotHeld)
