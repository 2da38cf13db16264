package live

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// witness follows the data of one node, for the [Truth].
type witness interface {
	servers.Observer
	// run watches the node whenever it is up, until ctx ends.
	run(ctx context.Context)
	// hasChanged reports whether the last command of that name from an address has
	// changed a lock key, as far as the node has reported.
	hasChanged(from, command string) bool
	close()
}

// feed is the stream of one node over successive connections. mu guards everything
// below it.
type feed struct {
	truth *Truth
	srv   *servers.Server

	mu        sync.Mutex
	conn      net.Conn      // nil while nothing is watched
	broken    chan struct{} // closed when conn is
	attached  bool          // what the node held at first has been reported
	pid       int           // the process that is or was watched
	restarted bool          // it is another one than before
	last      time.Time     // the time of the last change
	changes   int           // reported so far
	changedBy map[sender]bool
	waiting   map[string]chan mark
}

// mark is the position of a feed at a mark.
type mark struct {
	changes int
	at      time.Time
}

// sender is a command of a connection. Its changes are queried during its reply,
// when the connection may already have sent another command.
type sender struct{ from, command string }

// limit bounds every wait for a node.
const limit = 30 * time.Second

// reconnectEvery is the time between two tries to reach a node that does not answer.
const reconnectEvery = 5 * time.Millisecond

func newFeed(t *Truth, srv *servers.Server) feed {
	return feed{truth: t, srv: srv, changedBy: map[sender]bool{}}
}

// follow watches the node whenever it is up, until ctx ends.
func (f *feed) follow(ctx context.Context, watch func(ctx context.Context, pid int)) {
	for ctx.Err() == nil {
		if pid := f.srv.PID(); pid != 0 {
			watch(ctx, pid)
		}
		select {
		case <-time.After(reconnectEvery):
		case <-ctx.Done():
		}
	}
}

// open starts a connection to a process. The caller holds mu.
func (f *feed) open(conn net.Conn, pid int) (broken chan struct{}) {
	f.restarted = f.pid != pid
	f.pid, f.conn, f.broken, f.waiting = pid, conn, make(chan struct{}), map[string]chan mark{}
	return f.broken
}

// shut ends it. The caller holds mu.
func (f *feed) shut() {
	f.conn, f.attached = nil, false
	close(f.broken)
}

// Watching implements [Observer].
func (f *feed) Watching() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attached
}

func (f *feed) hasChanged(from, command string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changedBy[sender{from, command}]
}

// emit reports a change, with Node filled in, and Now if it is zero. The time of a
// change is never before that of the previous one, and never after by.
func (f *feed) emit(c keyspace.Change, by time.Time) {
	if c.At.After(by) {
		c.At = by
	}
	if c.At.Before(f.last) {
		c.At = f.last
	}
	f.last = c.At
	f.changes++
	c.Node = f.srv.Name
	if c.Now.IsZero() {
		c.Now = f.shown(c.At)
	}
	f.truth.reporting.Lock()
	defer f.truth.reporting.Unlock()
	f.truth.report(c)
}

// truly is the true time at which the node's clock showed a time, near by.
func (f *feed) truly(shown, by time.Time) time.Time {
	return f.srv.TrueTime(shown, by)
}

// shown is the time that the node's clock showed at a true time.
func (f *feed) shown(at time.Time) time.Time { return f.srv.Shown(at) }

// await asks the node for a mark and waits until the feed shows it; for the
// results see [Observer].
func (f *feed) await(ctx context.Context, ask func(mark string) []byte) (ended, attached bool, err error) {
	name, seen, broken := f.expect()
	if seen == nil {
		return false, false, nil
	}
	defer f.forget(name)
	f.mu.Lock()
	conn, attached := f.conn, f.attached
	if conn != nil {
		conn.SetWriteDeadline(time.Now().Add(limit))
		_, err = conn.Write(ask(name))
	}
	f.mu.Unlock()
	if err != nil { // the feed breaks
		return true, attached, nil
	}
	select {
	case <-seen:
		return false, attached, nil
	case <-broken:
		return true, attached, nil
	case <-ctx.Done():
		return false, attached, ctx.Err()
	}
}

const markPrefix = "holdfast-mark-"

// expect prepares for a mark; seen is nil if nothing is watched.
func (f *feed) expect() (name string, seen chan mark, broken chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn == nil {
		return "", nil, nil
	}
	name, seen = f.truth.newMark(), make(chan mark, 1)
	f.waiting[name] = seen
	return name, seen, f.broken
}

// expected reports whether a command shows an expected mark, and returns the
// channel of its waiter. The caller holds mu.
func (f *feed) expected(command string, args []string) (seen chan mark, ok bool) {
	if command != "ECHO" || len(args) != 2 {
		return nil, false
	}
	seen, ok = f.waiting[args[1]]
	delete(f.waiting, args[1])
	return seen, ok
}

func (f *feed) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, name)
}

// ranOut makes a change an expiry if the time of the key was over. A replica
// treats such a key as gone, and removes it only when its primary says so.
func (f *feed) ranOut(c keyspace.Change) keyspace.Change {
	end := c.Before.ExpireAt
	if !c.After.Exists() && !end.IsZero() && !end.After(f.shown(c.At)) {
		c.Cause, c.At, c.Now = "expiry", f.truly(end, c.At), time.Time{}
	}
	return c
}
