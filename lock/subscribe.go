package lock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// hubLinger is the time for which an unused subscription is kept, and then the
	// connection. Without it, a lock that is handed on would cost two commands more.
	hubLinger = time.Second
	// hubQuiet is the time of silence after which the connection is pinged, and after
	// which a missing answer means that it is broken. The writer looks once per hubQuiet,
	// so each may take twice as long.
	hubQuiet = 5 * time.Second
	// hubBackoff and hubBackoffMax bound the pause after a failed connect.
	hubBackoff    = 100 * time.Millisecond
	hubBackoffMax = 2 * time.Second
)

// hub is a subscription connection of a client: its only one, or in a cluster the one to
// a node. It subscribes to a lock's channel while somebody waits for that lock. It opens
// the connection for the first waiter and closes it shortly after the last.
//
// A message wakes one waiter, because a free lock has room for one. Waiters wake first
// come, first served. The first waiter of a channel also polls for all of them at
// intervals. It does so after each confirmation of the subscription, too, because earlier
// messages are lost.
//
// One goroutine writes to the connection, one reads. The writer has at most one open
// command, and reconnects by itself. go-redis would do so while it holds the mutex that
// the other goroutine needs. go-redis also holds that mutex while it writes, so under
// virtual time a write must succeed at once, as into a socket's buffer.
type hub struct {
	c    *Client
	node string        // of a cluster, its address
	kick chan struct{} // something below has changed

	mu      *sync.Mutex // that of hubs
	running bool
	waiters map[string][]*waiter // by channel, in order of arrival
	acked   map[string]bool      // channels confirmed on the current connection
	moved   bool                 // a slot of the node may have gone to another
	fresh   map[string]bool      // channels with a waiter that came before their subscription
	idle    map[string]time.Time // since when a channel with a subscription is without a waiter
	conn    *subConn
}

// waiter is one call that waits for one lock.
type waiter struct {
	hub     *hub // guarded by hubs.mu
	channel string
	wake    chan struct{} // holds one wake-up
	first   chan struct{} // closed when all that came before it have left
	woken   bool          // the caller's: a wake-up was taken, and no poll has followed
	quiet   bool          // a confirmation of the subscription does not wake it
}

// leads reports whether the waiter polls for all waiters of its channel.
func (w *waiter) leads() bool {
	select {
	case <-w.first:
		return true
	default:
		return false
	}
}

// subConn is one connection. Guarded by hub.mu, except ps and ended.
type subConn struct {
	ps      *redis.PubSub
	sharded bool            // the channels are those of slots
	ended   chan struct{}   // closed when the reader has returned
	sent    map[string]bool // channels subscribed to, confirmed or not
	pending map[string]bool // channels whose confirmation is awaited, and pong
	heard   time.Time       // the last sign of life, or command sent
	broken  bool
	useful  bool // the server has confirmed a subscription
}

// errBroken: the subscription connection does not answer.
var errBroken = errors.New("lock: subscription connection broken")

// spent is a context that has ended. go-redis reads and writes with it all the
// same, but gives up at once where it would reconnect on its own.
var spent = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// pong is the key in subConn.pending for a ping. No channel has this name.
const pong = ""

// join adds a waiter to a channel. ready means that it must poll once more now: it
// is the first, and the subscription is already confirmed; otherwise the
// confirmation wakes the first. Client.begin counts the caller. The caller holds mu.
func (h *hub) join(channel string, quiet bool) (w *waiter, ready bool) {
	w = &waiter{hub: h, channel: channel, quiet: quiet, wake: make(chan struct{}, 1), first: make(chan struct{})}
	h.waiters[channel] = append(h.waiters[channel], w)
	delete(h.idle, channel)
	if h.conn == nil || !h.conn.sent[channel] {
		h.fresh[channel] = true
	}
	if len(h.waiters[channel]) == 1 {
		close(w.first)
		ready = h.acked[channel]
	}
	h.start()
	h.changed()
	return w, ready
}

// start runs the writer. The caller holds mu.
func (h *hub) start() {
	if !h.running {
		h.running = true
		h.c.ops.Go(h.run)
	}
}

// left removes a waiter, and reports whether it was the last of its channel. If it
// leaves without the lock, and with a wake-up after which it has not polled, left
// passes the wake-up on. The caller holds mu.
func (h *hub) left(w *waiter, granted bool) (last bool) {
	rest := h.waiters[w.channel]
	if i := slices.Index(rest, w); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
		if i == 0 && len(rest) > 0 {
			rest[0].lead()
		}
	}
	if len(rest) == 0 {
		delete(h.waiters, w.channel)
		delete(h.fresh, w.channel)
		if h.conn != nil && h.conn.sent[w.channel] {
			h.idle[w.channel] = time.Now()
		}
		return true
	}
	h.waiters[w.channel] = rest
	if !granted && (w.woken || len(w.wake) > 0) {
		h.wake(w.channel, 1)
	}
	return false
}

// lead makes a waiter the one that polls for all waiters of its channel. The caller
// holds mu.
func (w *waiter) lead() {
	if !w.leads() { // else it came from another node
		close(w.first)
	}
}

// wake wakes the first n sleeping waiters. The caller holds mu.
func (h *hub) wake(channel string, n int) {
	for _, w := range h.waiters[channel] {
		if n == 0 {
			return
		}
		select {
		case w.wake <- struct{}{}:
			n--
		default:
		}
	}
}

func (h *hub) changed() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// run is the writer. It ends after a while without a waiter, or with the client.
func (h *hub) run() {
	timer := time.NewTimer(0)
	var idleSince time.Time
	reconnect := retry{pause: hubBackoff}
	for {
		h.mu.Lock()
		conn, idle := h.conn, len(h.waiters) == 0
		broken := conn != nil && conn.broken
		useful := conn != nil && conn.useful
		h.mu.Unlock()

		now := time.Now()
		if !idle {
			idleSince = time.Time{}
		} else if idleSince.IsZero() {
			idleSince = now
		}
		next := hubQuiet
		switch {
		case h.c.life.Err() != nil:
			h.hangUp()
			return
		case broken:
			h.hangUp()
			reconnect.broken(now, useful, h.node != "")
			continue
		case idle && now.Sub(idleSince) >= hubLinger:
			h.hangUp()
			if h.stop() {
				return
			}
			continue
		case idle:
			next = hubLinger - now.Sub(idleSince)
		}

		switch {
		case conn != nil:
			linger, err := h.update(conn)
			if err != nil {
				continue
			}
			if linger > 0 {
				next = min(next, linger)
			}
		case idle:
		case now.Before(reconnect.at):
			next = min(next, reconnect.at.Sub(now))
		case h.connect() == nil:
			continue
		default:
			next = reconnect.later(time.Now())
		}

		timer.Reset(next)
		h.sleep(timer)
	}
}

// sleep returns when there is something to look at.
func (h *hub) sleep(timer *time.Timer) {
	select {
	case <-h.kick:
	case <-timer.C:
	case <-h.c.life.Done():
	}
}

// stop ends the writer unless a waiter has come meanwhile.
func (h *hub) stop() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = len(h.waiters) > 0
	return !h.running
}

// connect opens a connection and subscribes to all needed channels.
func (h *hub) connect() error {
	ctx, cancel := context.WithTimeout(h.c.life, h.c.cfg.unlockTimeout)
	defer cancel()
	if err := h.reroute(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	channels := sortedKeys(h.waiters)
	h.mu.Unlock()
	if len(channels) == 0 {
		return nil
	}
	sharded, err := h.c.askSharded(ctx, channels[0])
	if err != nil {
		return err
	}
	conn := &subConn{sharded: sharded, ended: make(chan struct{}), sent: make(map[string]bool), pending: make(map[string]bool), heard: time.Now()}
	for _, ch := range channels {
		conn.sent[ch], conn.pending[ch] = true, true
	}
	conn.ps = h.c.user.Subscribe(ctx) // does nothing yet
	if err := conn.sendEach(ctx, channels, conn.ps.Subscribe, conn.ps.SSubscribe); err != nil {
		conn.ps.Close()
		return err
	}
	h.mu.Lock()
	h.conn = conn
	for _, ch := range channels {
		if len(h.waiters[ch]) == 0 { // it has left meanwhile
			h.idle[ch] = time.Now()
		}
	}
	h.mu.Unlock()
	h.c.ops.Go(func() { h.read(conn) })
	return nil
}

// hangUp closes the connection, if there is one.
func (h *hub) hangUp() {
	h.mu.Lock()
	conn := h.conn
	h.conn = nil
	clear(h.acked)
	clear(h.idle)
	h.mu.Unlock()
	if conn != nil {
		conn.ps.Close()
		<-conn.ended
	}
}

// update sends the next command, if the last one has been answered. It marks a
// connection that does not answer as broken. linger is when to check again for
// unused subscriptions; 0 if there are none.
func (h *hub) update(conn *subConn) (linger time.Duration, err error) {
	if err := h.reroute(h.c.life); err != nil {
		return hubBackoff, nil
	}
	h.mu.Lock()
	quiet := time.Since(conn.heard) >= hubQuiet
	if len(conn.pending) > 0 {
		conn.broken = conn.broken || quiet
		broken := conn.broken
		h.mu.Unlock()
		if broken {
			return 0, errBroken
		}
		return 0, nil
	}
	var add, remove []string
	for _, ch := range sortedKeys(h.fresh) {
		if len(h.waiters[ch]) > 0 && !conn.sent[ch] {
			add = append(add, ch)
			conn.sent[ch], conn.pending[ch] = true, true
		}
	}
	clear(h.fresh)
	if len(add) == 0 {
		for _, ch := range sortedKeys(h.idle) {
			if left := hubLinger - time.Since(h.idle[ch]); left > 0 {
				if linger == 0 || left < linger {
					linger = left
				}
			} else {
				remove = append(remove, ch)
				delete(conn.sent, ch)
				delete(h.acked, ch)
				delete(h.idle, ch)
				conn.pending[ch] = true
			}
		}
	}
	ping := len(add) == 0 && len(remove) == 0 && quiet
	if ping {
		conn.pending[pong] = true
	}
	if len(conn.pending) > 0 {
		conn.heard = time.Now()
	}
	h.mu.Unlock()

	switch { // the reader finds out about a failed write
	case len(add) > 0:
		err = conn.sendEach(spent, add, conn.ps.Subscribe, conn.ps.SSubscribe)
	case len(remove) > 0:
		err = conn.sendEach(spent, remove, conn.ps.Unsubscribe, conn.ps.SUnsubscribe)
	case ping:
		err = conn.ps.Ping(spent)
	}
	return linger, err
}

// read is the reader of one connection. It ends with the connection.
func (h *hub) read(conn *subConn) {
	defer close(conn.ended)
	for {
		msg, err := conn.ps.Receive(spent)
		h.mu.Lock()
		conn.heard = time.Now()
		answered := false
		if err != nil {
			conn.broken = true
			h.moved = h.moved || redis.HasErrorPrefix(err, "MOVED")
			h.mu.Unlock()
			h.changed()
			return
		}
		var message *redis.Message
		switch msg := msg.(type) {
		case *redis.Message:
			if strings.HasPrefix(msg.Channel, fairChannelStart) {
				message = msg
			} else {
				h.wake(msg.Channel, 1)
			}
		case *redis.Pong:
			delete(conn.pending, pong)
			answered = len(h.fresh) > 0 // the writer has left these for the answer
		case *redis.Subscription:
			delete(conn.pending, msg.Channel)
			switch {
			case h.conn != conn:
			case msg.Kind == "subscribe" || msg.Kind == "ssubscribe":
				h.acked[msg.Channel], conn.useful = true, true
				if all := h.waiters[msg.Channel]; len(all) > 0 && !all[0].quiet {
					h.wake(msg.Channel, 1)
				}
			case conn.sent[msg.Channel]: // an unrequested unsubscription: the slot has moved
				h.moved, conn.broken = true, true
			}
			answered = conn.broken || len(conn.pending) == 0
		}
		h.mu.Unlock()
		if message != nil {
			h.c.handed(message.Channel, message.Payload)
		}
		if answered {
			h.changed()
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
