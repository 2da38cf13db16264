// Package observe records the ground truth of the live world: every change of a
// lock key on every node, in order, with its author and time. It reads the nodes'
// own streams, executes their commands again in a shadow, and from time to time
// compares the shadow with the nodes.
package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/redis/keyspace"
)

// Truth is what the nodes really hold: every change of a lock key on every
// node, in the order in which it happened there.
//
// Each node is watched over one connection that no fault touches. It carries
// the commands that the node executes (MONITOR) and the events of its keys, in
// one order: the events of a command come right before the command. The
// commands say what was written, the events whether anything was, and when a
// key has expired. What a node holds is then known without asking it; now and
// then it is asked anyway, and must agree.
//
// What no stream tells is found by asking, up to [watchEvery] later: what a
// replica received in a full resync, and what a server holds that was started
// again.
//
// A server of miniredis tells itself what it executes, and what that changed.
type Truth struct {
	servers *servers.Servers
	lockKey func(string) bool
	nodes   map[string]witness
	end     context.CancelFunc
	running sync.WaitGroup
	marks   atomic.Int64 // handed out so far, also to tell them apart

	reporting sync.Mutex // report is called by one goroutine at a time
	report    func(keyspace.Change)

	mu  sync.Mutex
	err error
}

// Start begins to tell report of every change of a lock key, and returns
// when every node that is up is being watched. What a node holds already is a
// change from nothing, with the cause "restart", or "replication" on a replica.
//
// report is called by one goroutine at a time, must not block, and must not
// call methods of the Truth. The changes of a node come in their order; those
// of two nodes may come in another order than their times. Times are of this
// machine's clock, good to some microseconds; moments of expiry that a node
// counts from its own clock are good to a millisecond.
//
// A world is observed once at a time.
func Start(s *servers.Servers, lockKey func(string) bool, report func(keyspace.Change)) (*Truth, error) {
	ctx, end := context.WithCancel(s.Context())
	t := &Truth{servers: s, lockKey: lockKey, report: report, nodes: map[string]witness{}, end: end}
	for _, srv := range s.Observable() {
		w, err := newWitness(t, srv)
		if err != nil {
			t.Close()
			return nil, err
		}
		t.nodes[srv.Name] = w
		srv.ObservedBy(w)
		t.running.Go(func() { w.run(ctx) })
	}
	ready, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if err := t.Sync(ready, name); err != nil {
			t.Close()
			return nil, fmt.Errorf("observe %s: %w", name, errors.Join(err, t.Err()))
		}
	}
	return t, nil
}

// Sync returns when everything that a node executed before the call has been
// reported. A node that is down has nothing left to report.
func (t *Truth) Sync(ctx context.Context, node string) error {
	w := t.nodes[node]
	if w == nil {
		return fmt.Errorf("no node %q is observed", node)
	}
	for {
		ended, attached, err := w.Sync(ctx, false)
		switch {
		case err != nil:
			return fmt.Errorf("wait for the truth about %s: %w", node, err)
		case attached && !ended:
			return nil
		case !t.servers.Up(node) && !attached:
			return nil
		}
		select {
		case <-time.After(reconnectEvery):
		case <-ctx.Done():
			return fmt.Errorf("wait for the truth about %s: %w", node, ctx.Err())
		}
	}
}

// Changed reports whether the last command of that name that a connection sent has
// changed a lock key. addr is the address from which the node sees the connection
// come, that is of the proxy. It waits until the node has told, and fits
// WorldOptions.Changed of package live.
func (t *Truth) Changed(node, addr, command string) bool {
	ctx, cancel := context.WithTimeout(t.servers.Context(), limit)
	defer cancel()
	if err := t.Sync(ctx, node); err != nil {
		return false // the run is over, or the node was suspended for as long
	}
	return t.nodes[node].hasChanged(addr, command)
}

// SyncAll returns when everything that the nodes executed before the call has
// been reported.
func (t *Truth) SyncAll(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if err := t.Sync(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Err is the first thing that makes the truth doubtful, and so the run
// worthless.
func (t *Truth) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *Truth) doubt(srv *servers.Server, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = fmt.Errorf("the truth about %s is doubtful: %w", srv.Name, err)
	}
}

// Close ends the observation; nothing is reported after it. It may be called
// twice.
func (t *Truth) Close() {
	t.end()
	t.running.Wait()
	for _, srv := range t.servers.Observable() {
		srv.ObservedBy(nil)
	}
	for _, w := range t.nodes {
		w.close()
	}
}

// newMark makes a text that a stream shows when it has come so far. Where
// others may be observing as well it is like none of theirs.
func (t *Truth) newMark() string {
	return fmt.Sprintf("%s%d-%s", markPrefix, t.marks.Add(1), t.servers.RunKey())
}
