package lock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// hubs are the subscription connections of a client: one, or in a cluster one for
// each node where somebody waits for a lock. In a cluster the channel of a lock is
// sharded if the server supports that: a message stays on the nodes of its slot.
type hubs struct {
	c *Client

	mu sync.Mutex      // of all hubs; never held across I/O
	of map[string]*hub // by node, "" outside of a cluster
}

func newHubs(c *Client) *hubs { return &hubs{c: c, of: make(map[string]*hub)} }

// join adds a waiter to a channel; see [hub.join].
func (all *hubs) join(channel string) (w *waiter, ready bool) {
	h := all.lock(channel)
	defer all.mu.Unlock()
	return h.join(channel, false)
}

// joinBoth adds waiters to two channels of one slot. It does so at once: otherwise it would
// depend on the scheduler whether one command subscribes to both.
func (all *hubs) joinBoth(freedChannel, handedChannel string) (freed, handed *waiter) {
	h := all.lock(freedChannel)
	defer all.mu.Unlock()
	freed, ready := h.join(freedChannel, false)
	// One of the two confirmations is reason enough for a look: the later one.
	handed, readyToo := h.join(handedChannel, !ready && freed.leads())
	if ready && readyToo {
		handed.wake <- struct{}{}
	}
	return freed, handed
}

// lock locks mu, and returns the hub of a channel.
func (all *hubs) lock(channel string) *hub {
	node, _ := all.c.nodeOf(all.c.life, channel) // otherwise the hub finds out
	all.mu.Lock()
	return all.at(node)
}

// leave removes a waiter; see [hub.left].
func (all *hubs) leave(w *waiter, granted bool) {
	all.mu.Lock()
	h := w.hub
	last := h.left(w, granted)
	all.mu.Unlock()
	if last {
		h.changed()
	}
}

// at returns the hub of a node. The caller holds mu.
func (all *hubs) at(node string) *hub {
	h := all.of[node]
	if h == nil {
		h = &hub{
			c:       all.c,
			node:    node,
			mu:      &all.mu,
			kick:    make(chan struct{}, 1),
			waiters: make(map[string][]*waiter),
			acked:   make(map[string]bool),
			fresh:   make(map[string]bool),
			idle:    make(map[string]time.Time),
		}
		all.of[node] = h
	}
	return h
}

// nodeOf returns the address of the master of a channel's slot, "" outside of a cluster.
func (c *Client) nodeOf(ctx context.Context, channel string) (string, error) {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		return "", nil
	}
	master, err := cluster.MasterForKey(ctx, channel)
	if err != nil {
		return "", fmt.Errorf("find node of %s: %w", channel, err)
	}
	return master.Options().Addr, nil
}

// reroute moves the waiters of channels whose slots are no longer on this node, to
// the hubs of the nodes that have the slots. On an error, all waiters stay.
func (h *hub) reroute(ctx context.Context) error {
	cluster, ok := h.c.rdb.(*redis.ClusterClient)
	if !ok {
		return nil
	}
	h.mu.Lock()
	moved := h.moved
	h.moved = false
	var channels []string
	if moved || h.conn == nil {
		channels = sortedKeys(h.waiters)
	}
	h.mu.Unlock()
	if moved {
		cluster.ReloadState(ctx)
	}
	for _, ch := range channels {
		node, err := h.c.nodeOf(ctx, ch)
		if err != nil {
			return err
		}
		if node == h.node {
			continue
		}
		h.mu.Lock()
		to := h.c.hub.at(node)
		if len(to.waiters[ch]) == 0 && to.acked[ch] {
			h.wake(ch, 1) // nothing will be confirmed
		}
		for _, w := range h.waiters[ch] {
			w.hub = to
		}
		to.waiters[ch] = append(to.waiters[ch], h.waiters[ch]...)
		delete(to.idle, ch)
		if to.conn == nil || !to.conn.sent[ch] {
			to.fresh[ch] = true
		}
		if h.conn != nil && h.conn.sent[ch] {
			h.idle[ch] = time.Time{} // it is of no use there
		}
		delete(h.waiters, ch)
		to.start()
		h.mu.Unlock()
		to.changed()
	}
	return nil
}

// sendEach sends a command about channels, and one for each sharded channel, because such a
// command concerns one slot. Only the first may take the time to connect.
func (conn *subConn) sendEach(ctx context.Context, channels []string, plain, sharded func(context.Context, ...string) error) (err error) {
	if !conn.sharded {
		return plain(ctx, channels...)
	}
	for i := 0; i < len(channels) && err == nil; i++ {
		err, ctx = sharded(ctx, channels[i]), spent
	}
	return err
}
