package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/sim/keyspace"
)

// observer follows one node. Everything below mu is guarded by it.
type observer struct {
	truth  *Truth
	srv    *server
	shadow *shadow

	mu        sync.Mutex
	conn      net.Conn          // nil while nothing is watched
	broken    chan struct{}     // closed when conn is
	attached  bool              // what the node held at first has been reported
	pid       int               // the process that is or was watched
	restarted bool              // it is another one than before
	replica   bool              // when last asked
	last      time.Time         // the time of the last change
	changes   int               // reported so far
	events    []string          // lock keys with events that no command has claimed yet
	group     *group            // what is being executed as one
	ended     []keyspace.Change // keys that have expired; a line that follows bounds when
	multi     map[string]bool
	changedBy map[sender]bool
	waiting   map[string]chan mark
}

const (
	// reconnectEvery is how often a node that does not answer is tried.
	reconnectEvery = 5 * time.Millisecond
	// watchEvery is how often a node is asked what it holds.
	watchEvery = 250 * time.Millisecond
	// lull is how long a stream must be silent until what it has brought is
	// taken for all there is.
	lull = 5 * time.Millisecond
)

func newObserver(t *Truth, srv *server) (*observer, error) {
	shadow, err := newShadow()
	if err != nil {
		return nil, err
	}
	return &observer{truth: t, srv: srv, shadow: shadow, changedBy: map[sender]bool{}}, nil
}

// run watches the node whenever it is up, until ctx ends.
func (o *observer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if pid := o.srv.pid(); pid != 0 {
			o.watch(ctx, pid)
		}
		select {
		case <-time.After(reconnectEvery):
		case <-ctx.Done():
		}
	}
}

// watch follows one connection until it breaks: when the node dies, and when
// Sentinel gives it another role, which ends all its connections.
func (o *observer) watch(ctx context.Context, pid int) {
	conn, in, err := o.connect(ctx)
	if err != nil {
		return // it is not up yet, or not any more
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	o.mu.Lock()
	o.restarted = o.pid != pid
	o.pid, o.conn, o.broken = pid, conn, make(chan struct{})
	o.multi, o.waiting = map[string]bool{}, map[string]chan mark{}
	broken := o.broken
	o.mu.Unlock()

	asking, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() { o.ask(asking, broken) })
	o.follow(in)
	stop()
	o.mu.Lock()
	o.settle(time.Now())
	o.events, o.conn, o.attached = nil, nil, false
	close(broken)
	o.mu.Unlock()
	asked.Wait()
}

// connect opens the stream of a node.
func (o *observer) connect(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp4", o.srv.addr())
	if err != nil {
		return nil, nil, err
	}
	greet := appendRequest(nil, "HELLO", "3")
	greet = appendRequest(greet, "PING") // refused while it loads its data, the events of which are no changes
	greet = appendRequest(greet, "PSUBSCRIBE", keyEvents+"*")
	greet = appendRequest(greet, "MONITOR")
	conn.SetDeadline(time.Now().Add(limit))
	in := bufio.NewReader(conn)
	_, err = conn.Write(greet)
	for range 4 {
		var reply any
		if err == nil {
			reply, err = readRESP(in)
		}
		if refused, ok := reply.(respError); ok {
			err = refused
		}
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	conn.SetDeadline(time.Time{})
	return conn, in, nil
}

// keyEvents is what channels of events begin with; the name of the event
// follows, and the message is the key.
const keyEvents = "__keyevent@0__:"

// arrived is an item of the stream, and when it came.
type arrived struct {
	item any
	at   time.Time
}

// follow takes what the stream brings until it breaks.
func (o *observer) follow(in *bufio.Reader) {
	items := make(chan arrived, 256)
	go func() {
		defer close(items)
		for {
			item, err := readRESP(in)
			if err != nil {
				return
			}
			items <- arrived{item, time.Now()}
		}
	}()
	quiet := time.NewTimer(lull)
	defer quiet.Stop()
	for {
		select {
		case a, ok := <-items:
			if !ok {
				return
			}
			if err := o.take(a); err != nil {
				o.truth.doubt(o, err)
			}
			quiet.Reset(lull)
		case <-quiet.C:
			o.mu.Lock()
			o.atLull(time.Now())
			o.mu.Unlock()
		}
	}
}

// atLull reports what has happened by now. Of a script or a transaction there
// may be more to come, for a node or a harness that does not get its turn, so
// then the node is asked for something that comes after it.
func (o *observer) atLull(now time.Time) {
	if o.group == nil {
		o.settle(now)
		return
	}
	mark := o.truth.newMark()
	o.waiting[mark] = nil // nobody waits for it, and it ends the group
	o.conn.SetWriteDeadline(now.Add(limit))
	if _, err := o.conn.Write(appendRequest(nil, "ECHO", mark)); err != nil {
		o.settle(now) // the stream breaks
	}
}

// take takes one item of the stream.
func (o *observer) take(a arrived) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch item := a.item.(type) {
	case respError:
		return fmt.Errorf("it answers %w", item)
	case pushed:
		if len(item) == 4 {
			channel, _ := item[2].(string)
			key, _ := item[3].(string)
			return o.event(strings.TrimPrefix(channel, keyEvents), key, a.at)
		}
	case string:
		if item == "OK" || strings.HasPrefix(item, markPrefix) { // answers to what sync asks
			return nil
		}
		line, err := parseMonitor(item)
		if err != nil {
			return err
		}
		return o.line(line, a.at)
	}
	return nil
}

// event takes an event of a key.
func (o *observer) event(name, key string, at time.Time) error {
	if !o.truth.lockKey(key) {
		return nil
	}
	if name != "expired" && name != "evicted" {
		o.events = append(o.events, key)
		return nil
	}
	if o.group != nil && o.group.touched(key) {
		o.closeGroup(at)
	}
	before := o.shadow.state[key]
	if !before.Exists() {
		return nil
	}
	c := keyspace.Change{Key: key, Cause: "fault", Role: rolePrimary, Before: before, At: at}
	switch {
	case name == "expired" && before.ExpireAt.IsZero():
		return fmt.Errorf("%q has expired and should have lived for ever", key)
	case name == "expired":
		c.Cause, c.At = "expiry", o.truly(before.ExpireAt, at)
	}
	o.ended = append(o.ended, c)
	return o.shadow.set(key, keyspace.Value{})
}

// settle reports all that has happened until by.
func (o *observer) settle(by time.Time) {
	o.closeGroup(by)
	o.reportEnded(by)
}

func (o *observer) reportEnded(by time.Time) {
	for _, c := range o.ended {
		o.emit(c, by)
	}
	o.ended = nil
}

// watching says whether everything that the node executes from now on is seen.
func (o *observer) watching() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attached
}

func (o *observer) isWatching(context.Context) error {
	if !o.watching() {
		return errors.New("it has not told what it holds")
	}
	return nil
}

// emit reports a change, the shadow being told by the caller. The time of a
// change is never before that of the one before, and never after the time by.
func (o *observer) emit(c keyspace.Change, by time.Time) {
	if c.At.After(by) {
		c.At = by
	}
	if c.At.Before(o.last) {
		c.At = o.last
	}
	o.last = c.At
	o.changes++
	c.Node = o.srv.name
	if c.Now.IsZero() {
		c.Now = o.shown(c.At)
	}
	o.truth.reporting.Lock()
	defer o.truth.reporting.Unlock()
	o.truth.report(c)
}

// truly is when the node's clock showed a time, as far as it is near by.
func (o *observer) truly(shown, by time.Time) time.Time {
	return o.srv.world.trueTime(o.srv.name, shown, by)
}

// shown is what the node's clock showed at a true time.
func (o *observer) shown(at time.Time) time.Time { return o.srv.world.shown(o.srv.name, at) }
