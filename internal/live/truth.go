package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// Truth follows the data of the nodes: every change of a lock key on every node,
// in the order in which it happened there.
//
// Truth watches each node over one connection without faults. It carries the commands
// that the node executes (MONITOR) and the events of its keys. In this one order, the
// events of a command come right before it. The commands show what was written, and the
// events whether anything was, and when a key expired. So Truth has the data of a node
// without asking. From time to time it asks anyway, and compares.
//
// The streams do not show the data of a replica after a full resync, and of a
// restarted server. Truth finds that by asking, up to [watchEvery] later.
//
// A miniredis server reports its own requests and their changes.
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

// startTruth starts to call report with every change of a lock key, and returns when it
// watches every live node. The initial data of a node is a change from nothing,
// with the cause "restart", or "replication" on a replica.
//
// One goroutine at a time calls report, which must neither block nor call methods
// of the Truth. The changes of a node come in order; those of two nodes may not be
// in the order of their times. Times are of this machine's clock, accurate to some
// microseconds. Moments of expiry by a node's own clock are accurate to a
// millisecond.
//
// A world can have one Truth at a time.
func startTruth(s *servers.Servers, lockKey func(string) bool, report func(keyspace.Change)) (*Truth, error) {
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

// Sync returns after the report of everything that a node executed before the
// call. A node that is down has nothing left to report.
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

// Changed reports whether the last command of that name on a connection has
// changed a lock key. addr is the connection's address for the node, that of the
// proxy. It waits for the node's report, and fits WorldOptions.Changed of package
// live.
func (t *Truth) Changed(node, addr, command string) bool {
	ctx, cancel := context.WithTimeout(t.servers.Context(), limit)
	defer cancel()
	if err := t.Sync(ctx, node); err != nil {
		return false // the run is over, or the node was suspended for as long
	}
	return t.nodes[node].hasChanged(addr, command)
}

// SyncAll returns after the report of everything that the nodes executed before
// the call.
func (t *Truth) SyncAll(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if err := t.Sync(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Err is the first reason to doubt the truth, after which the run proves nothing.
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

// Close ends the observation; report is not called after it. Further calls do
// nothing.
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

// newMark returns a text that a stream shows when it has come that far. It is
// unique among all observers.
func (t *Truth) newMark() string {
	return fmt.Sprintf("%s%d-%s", markPrefix, t.marks.Add(1), t.servers.RunKey())
}
