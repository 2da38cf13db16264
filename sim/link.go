package sim

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/random"
	own "github.com/holdfast-go/holdfast/internal/toxics"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// link is the path between two parties. Every message draws its latency between min and
// max, to the nanosecond, so that no two causal chains meet at one instant.
type link struct {
	from, to string
	seed     uint64
	min, max time.Duration
	watch    *observer                      // nil unless somebody watches
	onUse    func(faults.Link, traffic.Use) // nil unless somebody watches
	turns    *turns
	// announce, when not nil, gets the moments of what reaches the client, and op is the
	// operation that it is in.
	announce func(faults.Moment)
	op       func() string
	// replicates says that the link is a replica's, to its primary.
	replicates bool

	requests own.Requests // that faults withhold
	refusals own.Refusals // of new connections

	mu      sync.Mutex
	dialled int         // calls to open a connection
	opened  int         // connections ever opened
	conns   []*pipeConn // the dialling ends, oldest first
	toxics  []*attached
	changed chan struct{} // closed when a toxic comes or goes
}

// attached is a toxic on a link, with its stage on each of its connections, oldest first.
// Closed connections stay: the toxic still holds their data, which leaves after it.
type attached struct {
	toxic  toxics.Toxic
	dir    stream.Direction
	since  time.Time
	stages []placed
}

type placed struct {
	pipe  *pipe
	stage *stage
}

// used reports a use of the link; see [Options.OnUse].
func (l *link) used(how traffic.Use) {
	if l.onUse != nil {
		l.onUse(faults.Link{From: l.from, To: l.to}, how)
	}
}

func (l *link) delay(rng *rand.Rand) time.Duration {
	if l.max <= l.min {
		return l.min + time.Duration(rng.Int64N(1000))
	}
	return l.min + time.Duration(rng.Int64N(int64(l.max-l.min)))
}

// open makes a connection once the path is free, after a round trip. accept takes
// the other end, or refuses it.
func (l *link) open(ctx context.Context, owner *Process, from, to net.Addr, accept func(server *pipeConn) error) (*pipeConn, error) {
	l.mu.Lock()
	l.opened++
	number := l.opened
	n := strconv.Itoa(number)
	l.mu.Unlock()
	up := random.Stream(l.seed, "link", l.from, l.to, n, "up")
	down := random.Stream(l.seed, "link", l.from, l.to, n, "down")
	for {
		l.used(traffic.Dialled)
		l.mu.Lock()
		changed, blocked := l.changed, l.isBlocked()
		l.mu.Unlock()
		if !blocked {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-time.After(l.delay(up) + l.delay(down)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.used(traffic.Dialled)
	if l.refusals.Refused() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: errRefused}
	}
	client, server := connect(l, number, owner, up, down, from, to)
	l.watch.opened(l, number, client)
	l.mu.Lock()
	l.conns = append(l.conns, client)
	for _, a := range l.toxics {
		a.on(client)
	}
	l.mu.Unlock()
	client.onClose = func() { l.forget(client) }
	if owner != nil {
		owner.track(client, true)
	}
	if err := accept(server); err != nil {
		client.log(traffic.Refused)
		client.reset()
		return nil, err
	}
	return client, nil
}

// knock counts an attempt to connect, and returns its turn.
func (l *link) knock() turnKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialled++
	return turnKey{from: l.from, to: l.to, n: l.dialled}
}

func (l *link) forget(c *pipeConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = without(l.conns, c)
}

// on adds the toxic to one connection.
func (a *attached) on(c *pipeConn) {
	p := c.out
	if a.dir == stream.Downstream {
		p = c.in
	}
	a.stages = append(a.stages, placed{p, p.attach(a.toxic, a.since)})
}

// off removes the toxic from every connection.
func (a *attached) off() {
	for _, x := range a.stages {
		x.pipe.detach(x.stage)
	}
}

// attach adds a toxic to every present and future connection of the link.
func (l *link) attach(dir stream.Direction, t toxics.Toxic) (detach func()) {
	a := &attached{toxic: t, dir: dir, since: time.Now()}
	l.mu.Lock()
	l.toxics = append(l.toxics, a)
	for _, c := range l.conns {
		a.on(c)
	}
	l.signal()
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		l.toxics = without(l.toxics, a)
		l.signal()
		l.mu.Unlock()
		a.off()
	}
}

func (l *link) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// isBlocked reports whether a toxic withholds all data, so that no connection can be
// opened. The caller holds the lock.
func (l *link) isBlocked() bool {
	return slices.ContainsFunc(l.toxics, func(a *attached) bool { return own.Blocks(a.toxic) })
}

func (l *link) blocked() bool {
	l.used(traffic.Dialled)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isBlocked()
}

// halfOpen ends every open connection at one party. tell ends them at the other.
func (l *link) halfOpen(gone string) (tell func()) {
	l.mu.Lock()
	struck := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range struck {
		if gone == l.to {
			c.peer.vanish(true)
		} else {
			c.vanish(false)
		}
	}
	return func() {
		for _, c := range struck {
			c.reset()
		}
	}
}

// reset breaks every connection of the link.
func (l *link) reset() {
	l.mu.Lock()
	conns := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range conns {
		c.reset()
	}
}

func (l *link) connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// clear removes every toxic and releases every withheld request, so that their
// goroutines end.
func (l *link) clear() {
	l.requests.Release()
	l.mu.Lock()
	all := l.toxics
	l.toxics = nil
	l.mu.Unlock()
	for _, a := range all {
		a.off()
	}
}
