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

// renewBatch is the largest number of locks that one script call renews, so that a
// client with many locks does not block the server.
const renewBatch = 100

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
		s.due = s.renewed.Add(-s.c.cfg.lease).Add(s.c.cfg.lease / 3)
		s.watched = true
		w.arm(s.c, s.due)
	default:
		w.count--
		s.watched = false
		if w.count == 0 {
			w.stop()
		}
	}
}

func (w *watchdog) stop() {
	if w.armed {
		w.timer.Stop()
		w.armed = false
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
	node  string        // of a cluster, which has the lock
	last  uint64        // serial of the owner's last request
	lease time.Duration // to set on the server
	err   error
	held  bool
}

// first reports whether the hold was handed to its owner, and never renewed: its
// lease is then only that of its place.
func (r *renewal) first() bool { return r.s.renewed.IsZero() }

// errOvertaken: a later request of the owner came before its renewal.
var errOvertaken = errors.New("a later request came before it")

// renewDue renews the holds that are due or will be soon, with one request for
// each server.
func (c *Client) renewDue() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.dog.armed = false
	now := time.Now()
	interval := c.cfg.lease / 3
	var batch []*renewal
	for _, s := range c.states {
		if s.watched && s.renews == nil && !s.due.After(now.Add(interval/2)) {
			batch = append(batch, &renewal{s: s, cur: s.cur, last: s.last, lease: s.owed(now)})
			s.renews = make(chan struct{})
		}
	}
	c.rearm()
	oneName := c.oneName
	c.ops.Add(1)
	c.mu.Unlock()
	defer c.ops.Done()
	if len(batch) == 0 {
		return
	}

	// The order of a map must not show on the wire.
	slices.SortFunc(batch, func(a, b *renewal) int {
		if n := strings.Compare(a.s.names.lock, b.s.names.lock); n != 0 {
			return n
		}
		return strings.Compare(a.s.field, b.s.field)
	})
	var last *renewal
	var node []*renewal
	renew := func(node []*renewal) func() {
		sent := time.Now()
		return func() {
			timeout := c.cfg.lease / 6
			if slices.ContainsFunc(node, (*renewal).first) {
				timeout = min(timeout, c.placeLease()/6)
			}
			ctx, cancel := context.WithTimeout(c.life, timeout)
			c.sendRenewals(ctx, node, oneName)
			cancel()
			c.renewed(node, sent)
		}
	}
	c.assign(batch)
	for _, r := range batch {
		if last != nil && r.node != last.node {
			c.ops.Go(renew(node))
			node = nil
		}
		node, last = append(node, r), r
	}
	renew(node)()
}

// assign finds the master of each lock in a cluster, and sorts the batch by it. The
// outcome of one node says nothing about another.
func (c *Client) assign(batch []*renewal) {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, c.cfg.lease/6)
	defer cancel()
	for _, r := range batch {
		if master, err := cluster.MasterForKey(ctx, r.s.names.lock); err == nil {
			r.node = master.Options().Addr
		}
	}
	slices.SortStableFunc(batch, func(a, b *renewal) int { return strings.Compare(a.node, b.node) })
}

// renewed processes the outcome of a batch that was sent at sent.
func (c *Client) renewed(batch []*renewal, sent time.Time) {
	var after []func()
	c.mu.Lock()
	now := time.Now()
	for _, r := range batch {
		s := r.s
		close(s.renews)
		s.renews = nil
		switch {
		case s.cur != r.cur || s.lost || len(s.holds) == 0:
			// Released or lost meanwhile: the answer is about the past.
		case r.err != nil:
			s.due = now.Add(c.cfg.lease / 10)
			if r.first() {
				s.due = now.Add(min(c.cfg.lease, c.placeLease()) / 10)
			}
			switch {
			case redis.HasErrorPrefix(r.err, "CROSSSLOT"):
				c.oneName, s.due = true, now
			case errors.Is(r.err, errOvertaken):
				s.due = now
				continue
			}
			if f := c.cfg.observer.RenewalFailed; f != nil {
				after = append(after, func() { f(s.key.name, s.key.owner, r.err) })
			}
		case r.held:
			s.renewed = sent.Add(c.cfg.lease)
			s.due = sent.Add(c.cfg.lease / 3)
			s.settle()
			if f := c.cfg.observer.Renewed; f != nil {
				after = append(after, func() { f(s.key.name, s.key.owner) })
			}
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
		if s.watched && s.renews == nil && (next.IsZero() || s.due.Before(next)) {
			next = s.due
		}
	}
	if !next.IsZero() {
		c.dog.arm(c, next)
	}
}

// sendRenewals renews the batch in one round trip, and fills in the outcomes. Keys
// of one script call must be in one slot, so a cluster gets one call per lock.
func (c *Client) sendRenewals(ctx context.Context, batch []*renewal, oneName bool) {
	size := renewBatch
	if oneName {
		size = 1
	}
	chunks := slices.Collect(slices.Chunk(batch, size))
	type outcome struct {
		answers []any
		err     error
	}
	outcomes, err := call(ctx, c, func(ctx context.Context) ([]outcome, error) {
		keys := make([][]string, len(chunks))
		args := make([][]any, len(chunks))
		cmds := make([]*redis.Cmd, len(chunks))
		pipe := c.rdb.Pipeline()
		for i, chunk := range chunks {
			args[i] = append(args[i], millis(noteTime))
			for _, r := range chunk {
				keys[i] = append(keys[i], r.s.names.lock, r.s.names.note(r.s.field))
				args[i] = append(args[i], r.s.field, r.last, r.cur.id, millis(r.lease))
			}
			cmds[i] = renewScript.EvalSha(ctx, pipe, keys[i], args[i]...)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		again := c.rdb.Pipeline()
		for i, cmd := range cmds {
			if noScript(cmd.Err()) {
				cmds[i] = renewScript.Eval(ctx, again, keys[i], args[i]...)
			}
		}
		if again.Len() > 0 {
			_, _ = again.Exec(ctx)
		}
		outcomes := make([]outcome, len(chunks))
		for i, cmd := range cmds {
			outcomes[i].answers, outcomes[i].err = parseRenew(cmd, len(chunks[i]))
		}
		return outcomes, nil
	})
	for i, chunk := range chunks {
		if err == nil {
			awaitEnd(ctx, outcomes[i].err)
		}
		for j, r := range chunk {
			switch {
			case err != nil:
				r.err = fmt.Errorf("renew lock: %w", err)
			case outcomes[i].err != nil:
				r.err = fmt.Errorf("renew lock: %w", outcomes[i].err)
			case outcomes[i].answers[j] == int64(2):
				r.err = fmt.Errorf("renew lock: %w", errOvertaken)
			default:
				r.held = outcomes[i].answers[j] == int64(1)
			}
		}
	}
}

func parseRenew(cmd *redis.Cmd, n int) ([]any, error) {
	answers, err := cmd.Slice()
	if err == nil && len(answers) != n {
		err = errors.New("answer has the wrong length")
	}
	return answers, err
}
