// Package sim is the world in virtual time: unmodified go-redis clients talk to
// unmodified miniredis servers over in-memory links in a testing/synctest bubble. Time
// passes only when all goroutines wait, and every message draws its latency from a seeded
// source. So a seed gives the same history, byte for byte, in any process.
//
// The package adds replication by effects to miniredis, over a link that faults can delay
// or cut. It adds a WAIT that waits, failover, restarts, a clock per server, and cluster
// slots. It can pause processes, and reports every change of a key.
package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// Options describe a world. Group g has a primary "node-g" and replicas
// "node-g-replica-1" and so on; clients are "client-1" and so on.
type Options struct {
	Seed     uint64
	Clients  int
	Groups   int // independent primaries; with Cluster they share one key space
	Replicas int // of each primary
	Cluster  bool

	LatencyMin, LatencyMax time.Duration // of a message between client and server, one way
	Lag                    time.Duration // of replication, one way; 0: as the latency

	// Server has the commands that the servers refuse, and those that they have; nil stands
	// for [profile.Default].
	Server *profile.Profile

	// LockKey says which keys are locks, for [faults.Moment.Changed] and
	// [World.DeleteLock].
	LockKey func(key string) bool
	// NextEnd is the next moment, by its own clock, at which a hold ends on a server
	// without a change of a key; zero for none. OnChange then gets a change without a
	// key. It must not call back into the world. nil costs nothing.
	NextEnd func(node string) time.Time
	// OnChange gets every change of a key, OnMoment every moment. OnChange must not call
	// back into the world; OnMoment may, through faults.
	OnChange func(keyspace.Change)
	OnMoment func(faults.Moment)
	// With Arrivals, OnMoment also gets what reaches clients: see
	// [faults.Anchor.ToClient].
	Arrivals bool
	// OnMessage gets every message on every link, once its fate is decided. The goroutine
	// that moves the message calls it. It must be safe for concurrent use and must not
	// call back into the world. nil costs nothing.
	OnMessage func(traffic.Message)
	// The world calls OnUse for each use of a link that a fault of the link could
	// change. The rules of OnMessage hold for it as well. nil costs nothing.
	OnUse func(faults.Link, traffic.Use)
}

// World is a running simulated world. It must be made, used and closed inside
// one [Bubble]. It implements [faults.World].
type World struct {
	opts  Options
	watch *observer
	turns *turns

	nodes map[string]*node
	order []string // node names, in order of making
	procs map[string]*Process

	mu      sync.Mutex
	links   map[[2]string]*link
	primary []string            // by group - 1
	routes  map[string][]string // client -> by group - 1: the node it is sent to
	slots   []slots             // of a cluster, by the group that began with them - 1
	err     error
	closed  bool
}

var _ faults.World = (*World)(nil)

// New starts a world: every server up, every replica in sync or on its way.
func New(o Options) *World {
	o.Server = cmp.Or(o.Server, profile.All()[0])
	w := &World{
		opts: o, nodes: map[string]*node{}, procs: map[string]*Process{},
		links: map[[2]string]*link{}, routes: map[string][]string{}, turns: newTurns(),
	}
	if o.OnMessage != nil {
		w.watch = &observer{tell: o.OnMessage}
	}
	seedGlobal(o.Seed)
	for g := 1; g <= o.Groups; g++ {
		name := party.Node(g)
		w.add(newNode(w, name, g, address(g, 1), rolePrimary))
		w.primary, w.slots = append(w.primary, name), append(w.slots, slots{owner: g})
		for r := 1; r <= o.Replicas; r++ {
			w.add(newNode(w, party.Replica(name, r), g, address(g, 1+r), roleReplica))
		}
	}
	for c := 1; c <= o.Clients; c++ {
		name := party.Client(c)
		w.procs[name] = &Process{Process: faults.NewProcess(name), wall: newClock(0)}
		w.routes[name] = slices.Clone(w.primary)
	}
	for _, name := range w.order {
		if n := w.nodes[name]; n.role == roleReplica {
			n.follows(w.nodes[w.primary[n.group-1]])
		}
	}
	return w
}

func (w *World) add(n *node) {
	w.nodes[n.name] = n
	w.order = append(w.order, n.name)
}

// address is a server's address; 10.0.g.0 stands for "the primary of group g".
func address(group, host int) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, byte(group), byte(host)), Port: 6379}
}

// Process returns a client process.
func (w *World) Process(name string) *Process { return w.procs[name] }

// Served is the number of commands that the servers have executed, and of scripts
// among them.
func (w *World) Served() (commands, scripts int) {
	for _, name := range w.order {
		n := w.nodes[name]
		n.exec.Lock()
		commands += n.served
		scripts += n.scripts
		n.exec.Unlock()
	}
	return commands, scripts
}

// Key is a key on a live primary.
type lockKey struct {
	Node, Name string
	TTL        time.Duration // 0 without an expiry
}

// Keys lists the keys of the live primaries, by node and name.
func (w *World) Keys() []lockKey {
	var keys []lockKey
	for g := 1; g <= w.opts.Groups; g++ {
		n := w.primaryOf(g)
		n.look()
		n.exec.Lock()
		if n.up {
			for _, k := range sortedKeys(n.data) {
				keys = append(keys, lockKey{n.name, k, n.mr.TTL(k)})
			}
		}
		n.exec.Unlock()
	}
	return keys
}

// Subscriptions counts the channels with a subscriber.
func (w *World) Subscriptions() int {
	total := 0
	for _, name := range w.order {
		n := w.nodes[name]
		n.exec.Lock()
		if n.up {
			total += len(n.mr.PubSubChannels(""))
		}
		n.exec.Unlock()
	}
	return total
}

// Connections counts the open connections between live processes and servers.
func (w *World) Connections() int {
	total := 0
	for _, l := range w.allLinks() {
		if p := w.procs[l.from]; p != nil && !p.Crashed() {
			total += l.connections()
		}
	}
	return total
}

// Err is the first error of the world itself, after which a run proves nothing.
func (w *World) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close stops every server and breaks every connection.
func (w *World) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.watch.over()
	w.turns.close()
	for _, name := range w.order {
		w.nodes[name].unfollow()
	}
	for _, name := range w.order {
		if n := w.nodes[name]; n.isUp() {
			w.fail(n.stop())
		}
	}
	for _, l := range w.allLinks() {
		l.reset()
		l.clear()
	}
	for _, name := range slices.Sorted(maps.Keys(w.procs)) {
		w.procs[name].Over()
	}
}

// fail notes what went wrong in the world itself; nil is nothing.
func (w *World) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

func (w *World) announce(m faults.Moment) {
	if w.opts.OnMoment != nil {
		w.opts.OnMoment(m)
	}
}

func (w *World) changed(c keyspace.Change) {
	if w.opts.OnChange != nil {
		w.opts.OnChange(c)
	}
}

// opOf is the present operation of a process.
func (w *World) opOf(process string) string {
	if p := w.procs[process]; p != nil {
		return p.Op()
	}
	return ""
}

func (w *World) primaryOf(group int) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[w.primary[group-1]]
}

func (w *World) routeOf(process string, group int) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[w.routes[process][group-1]]
}

// link returns the link between two parties, making it on first use.
func (w *World) link(from, to string) *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := [2]string{from, to}
	l := w.links[id]
	if l == nil {
		lo, hi := w.opts.LatencyMin, w.opts.LatencyMax
		if w.nodes[from] != nil && w.opts.Lag > 0 {
			lo, hi = w.opts.Lag, w.opts.Lag+w.opts.Lag/4
		}
		l = &link{from: from, to: to, seed: w.opts.Seed, min: lo, max: hi, changed: make(chan struct{})}
		l.watch, l.turns, l.replicates = w.watch, w.turns, w.nodes[from] != nil
		l.onUse = w.opts.OnUse
		if w.opts.Arrivals && !l.replicates {
			l.announce = w.announce
			l.op = func() string { return w.opOf(from) }
		}
		w.links[id] = l
	}
	return l
}

// allLinks lists the links in a fixed order.
func (w *World) allLinks() []*link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.links), func(a, b *link) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}

// reroute redirects every client to the current primaries, as Sentinel or the
// cluster's gossip would, unless it is isolated from them.
func (w *World) reroute() {
	for _, client := range slices.Sorted(maps.Keys(w.procs)) {
		for g := 1; g <= w.opts.Groups; g++ {
			now, want := w.routeOf(client, g), w.primaryOf(g)
			if now == want || w.link(client, want.name).blocked() {
				continue
			}
			w.mu.Lock()
			w.routes[client][g-1] = want.name
			w.mu.Unlock()
			w.link(client, now.name).reset()
		}
	}
}

// dial opens a connection of a process to a node.
func (w *World) dial(ctx context.Context, p *Process, n *node) (net.Conn, error) {
	// An ended context counts even in a paused process, as for net.Dialer. go-redis
	// may dial with a mutex held, and time stands still while others wait for it.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := w.link(p.Name(), n.name)
	w.turns.take(turnKey{from: l.from, to: l.to, who: goroutines.Marked()}) // several may dial at one instant
	key := l.knock()
	paused := p.Paused()
	if !p.Gate() {
		w.turns.take(key)
		return nil, errCrashed
	}
	if paused {
		w.turns.take(key)
		p.follow()
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, net.ErrClosed
	}
	from := &net.TCPAddr{IP: net.IPv4(10, 1, 0, 1), Port: 40000}
	c, err := l.open(ctx, p, from, n.addr, func(server *pipeConn) error { return n.accept(server, p.Name()) })
	if err != nil {
		w.turns.take(key)
		return nil, err
	}
	return c, nil
}

// Settle returns when all events of this instant of virtual time have happened. In
// a world it replaces [synctest.Wait], which only one goroutine may call at a
// time. Several callers at one instant return one after the other, by their names.
func (w *World) Settle(who string) { w.turns.take(turnKey{last: true, from: who}) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// without removes a member from s, in place.
func without[E comparable](s []E, member E) []E {
	return slices.DeleteFunc(s, func(e E) bool { return e == member })
}
