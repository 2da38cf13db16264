package live

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// observer follows one node of redis-server. Everything below shadow is
// guarded by mu.
// It implements [Observer].
type observer struct {
	feed
	shadow *shadow

	replica bool              // when last asked
	events  []string          // lock keys with events that no command has claimed yet
	popped  []string          // those of them from which something was taken
	blocked []monitorLine     // requests that wait for others, oldest first
	latest  time.Time         // of the latest line, by the server's clock
	group   *group            // what is being executed as one
	ended   []keyspace.Change // keys that have expired; a line that follows bounds when
	multi   map[string]bool
	names   map[string]bool // of keys and channels of the run, on a server of the user's own
}

const (
	// watchEvery is the time between two questions to a node for its data.
	watchEvery = 250 * time.Millisecond
	// lull is the time of silence after which a stream has brought all there is.
	lull = 5 * time.Millisecond
)

func newObserver(t *Truth, srv *servers.Server) (*observer, error) {
	shadow, err := newShadow()
	if err != nil {
		return nil, err
	}
	return &observer{feed: newFeed(t, srv), shadow: shadow, names: map[string]bool{}}, nil
}

// watch follows one connection until it breaks: when the node dies, or when
// Sentinel gives it another role, which ends all its connections.
func (o *observer) watch(ctx context.Context, pid int) {
	conn, in, err := o.connect(ctx)
	if err != nil {
		return // it is not up yet, or not any more
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	o.mu.Lock()
	o.multi, o.blocked = map[string]bool{}, nil
	broken := o.open(conn, pid)
	o.mu.Unlock()

	asking, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() { o.ask(asking, broken) })
	o.listen(in)
	stop()
	o.mu.Lock()
	o.settle(time.Now())
	o.events, o.popped = nil, nil
	o.shut()
	o.mu.Unlock()
	asked.Wait()
}

func (o *observer) connect(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	conn, err := o.srv.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	greet := resp.AppendRequest(nil, "HELLO", "3")
	greet = resp.AppendRequest(greet, "PING") // refused while it loads its data, the events of which are no changes
	greet = resp.AppendRequest(greet, "PSUBSCRIBE", keyEvents+"*")
	greet = resp.AppendRequest(greet, "MONITOR")
	conn.SetDeadline(time.Now().Add(limit))
	in := bufio.NewReader(conn)
	_, err = conn.Write(greet)
	for range 4 {
		var reply resp.Value
		if err == nil {
			reply, err = resp.Read(in)
		}
		err = cmp.Or(err, reply.Err())
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	conn.SetDeadline(time.Time{})
	return conn, in, nil
}

// keyEvents is the prefix of the channels of events. The name of the event
// follows; the message is the key.
const keyEvents = "__keyevent@0__:"

// arrived is an item of the stream, and its time. more means that the next one has
// arrived as well.
type arrived struct {
	item resp.Value
	at   time.Time
	more bool
}

// listen processes the stream until it breaks.
func (o *observer) listen(in *bufio.Reader) {
	items := make(chan arrived, 256)
	go func() {
		defer close(items)
		for {
			item, err := resp.Read(in)
			if err != nil {
				return
			}
			items <- arrived{item, time.Now(), in.Buffered() > 0}
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
				o.truth.doubt(o.srv, err)
			}
			quiet.Stop()
			if !a.more {
				quiet.Reset(lull)
			}
		case <-quiet.C:
			o.mu.Lock()
			o.atLull(time.Now())
			o.mu.Unlock()
		}
	}
}

// atLull reports the changes so far. A script or transaction may have more items,
// if the node or the harness waits for the CPU. So it asks the node for an item
// that comes after them.
func (o *observer) atLull(now time.Time) {
	if o.group == nil {
		o.settle(now)
		return
	}
	name := o.truth.newMark()
	o.waiting[name] = nil // no caller waits for it; that it is there ends the group
	o.conn.SetWriteDeadline(now.Add(limit))
	if _, err := o.conn.Write(resp.AppendRequest(nil, "ECHO", name)); err != nil {
		o.settle(now) // the stream breaks
	}
}

func (o *observer) take(a arrived) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch item := a.item; item.Kind {
	case '-', '!':
		return fmt.Errorf("it answers %w", item.Err())
	case '>':
		if len(item.Items) == 4 {
			return o.event(strings.TrimPrefix(item.Items[2].Text, keyEvents), item.Items[3].Text, a.at)
		}
	case '+', '$':
		if item.Text == "OK" || strings.HasPrefix(item.Text, markPrefix) { // answers to what sync asks
			return nil
		}
		line, err := parseMonitor(item.Text)
		if err != nil {
			return err
		}
		return o.line(line, a.at)
	}
	return nil
}

func (o *observer) event(name, key string, at time.Time) error {
	if !o.truth.lockKey(key) {
		return nil
	}
	if name != "expired" && name != "evicted" {
		o.events = append(o.events, key)
		if slices.Contains(pops, name) {
			o.popped = append(o.popped, key)
		}
		return nil
	}
	if g := o.group; g != nil && g.touched(key) {
		o.closeGroup(at)
		if g.script { // which may have set the key, and read it when its time was over
			o.group = g.rest()
		}
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

func (o *observer) Sync(ctx context.Context, last bool) (ended, attached bool, err error) {
	return o.await(ctx, func(mark string) []byte {
		var ask []byte
		if last {
			ask = resp.AppendRequest(ask, "CLIENT", "PAUSE", "1000", "ALL")
		}
		return resp.AppendRequest(ask, "ECHO", mark)
	})
}

func (o *observer) run(ctx context.Context) { o.follow(ctx, o.watch) }

func (o *observer) Patterns() int {
	if o.Watching() {
		return 1
	}
	return 0
}

func (o *observer) close() { o.shadow.close() }
