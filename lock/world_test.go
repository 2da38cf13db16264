package lock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/lock"
)

// world is a server in virtual time. Requests take latency to arrive and
// nothing to be answered, unless a test changes that.
type world struct {
	t       *testing.T
	server  *miniredis.Miniredis
	trip    atomic.Int64 // the latency
	clients int
	dialed  func(*link)
	links   []*link
	mu      sync.Mutex
	log     []entry // what arrived, scripts by their SHA
	hung    atomic.Bool
	drop    atomic.Pointer[func(cmd string, args []string) bool]
	answer  atomic.Pointer[server.Hook] // answers in place of the server if it returns true
}

type entry struct {
	at   time.Time
	cmd  string
	args []string
}

// inBubble runs f in virtual time and checks that nothing is left running.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // runs last: what is under way arrives
		w := newWorld(t)
		defer w.close()
		f(t, w)
	})
}

// close closes the server, after the end of what is under way at this instant: the Redis
// client also dials in the background.
func (w *world) close() {
	synctest.Wait()
	w.server.Close()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: miniredis.NewMiniRedis()}
	w.setLatency(time.Millisecond)
	conn, err := w.server.Dial() // starts the server
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	w.server.ClockTTL(true)
	w.server.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		w.mu.Lock()
		w.log = append(w.log, entry{time.Now(), cmd, args})
		w.mu.Unlock()
		answer := w.answer.Load()
		return answer != nil && (*answer)(p, cmd, args...)
	})
	return w
}

func (w *world) latency() time.Duration { return time.Duration(w.trip.Load()) }

// setLatency changes how long requests take that are sent from here on.
func (w *world) setLatency(d time.Duration) { w.trip.Store(int64(d)) }

// redis returns a Redis client of the world.
func (w *world) redis(change ...func(*redis.Options)) *redis.Client {
	opts := &redis.Options{
		Addr:                     "127.0.0.1:6379",
		Dialer:                   w.dial,
		PoolSize:                 64,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, f := range change {
		f(opts)
	}
	rdb := redis.NewClient(opts)
	w.t.Cleanup(func() { rdb.Close() })
	return rdb
}

// client returns a lock client of the world, closed with the test.
func (w *world) client(opts ...lock.Option) *lock.Client {
	return w.clientOn(w.redis(), opts...)
}

func (w *world) clientOn(rdb redis.UniversalClient, opts ...lock.Option) *lock.Client {
	w.t.Helper()
	w.clients++
	opts = append([]lock.Option{
		lock.WithID("client-" + strconv.Itoa(w.clients)),
		lock.WithRand(rand.New(rand.NewPCG(1, uint64(w.clients)))),
	}, opts...)
	c, err := lock.New(rdb, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := w.server.Dial()
	if err != nil {
		return nil, err
	}
	l := newLink(w, conn)
	w.mu.Lock()
	w.links = append(w.links, l)
	w.mu.Unlock()
	if w.dialed != nil {
		w.dialed(l)
	}
	return l, nil
}

// link is a connection of the world with its faults. A write succeeds at once,
// as into a socket's buffer, and arrives later.
type link struct {
	net.Conn
	w      *world
	out    chan packet
	closed chan struct{}
	once   sync.Once
	lose   atomic.Bool // the next answer is lost, and the connection with it
	subs   atomic.Bool // it is used for subscriptions
	mute   atomic.Bool // nothing arrives any more, in both directions

	back atomic.Int64 // how long an answer takes, but not a message of a subscription
}

type packet struct {
	arrives time.Time
	data    []byte
}

func newLink(w *world, conn net.Conn) *link {
	l := &link{Conn: conn, w: w, out: make(chan packet, 1024), closed: make(chan struct{})}
	go l.carry()
	return l
}

func (l *link) Write(b []byte) (int, error) {
	select {
	case <-l.closed:
		return 0, io.EOF
	case l.out <- packet{time.Now().Add(l.w.latency()), bytes.Clone(b)}:
		return len(b), nil
	}
}

// Close ends the reads. All writes arrive.
func (l *link) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.SetReadDeadline(time.Unix(1, 0))
}

// SetWriteDeadline does nothing, as a write succeeds at once.
func (l *link) SetWriteDeadline(time.Time) error { return nil }

func (l *link) SetDeadline(t time.Time) error { return reset(l.Conn.SetReadDeadline(t)) }

func (l *link) SetReadDeadline(t time.Time) error { return l.SetDeadline(t) }

// carry takes what was written to the server.
func (l *link) carry() {
	defer l.Conn.Close()
	for {
		select {
		case p := <-l.out:
			l.arrive(p)
			continue
		default:
		}
		select {
		case <-l.closed:
			return
		case p := <-l.out:
			l.arrive(p)
		}
	}
}

// arrive brings a packet to the server.
func (l *link) arrive(p packet) {
	time.Sleep(time.Until(p.arrives))
	if l.w.hung.Load() || l.mute.Load() {
		return // into the void
	}
	if strings.Contains(string(p.data), "subscribe") {
		l.subs.Store(true)
	}
	if drop := l.w.drop.Load(); drop != nil {
		if args := parse(string(p.data)); len(args) > 0 && (*drop)(args[0], args[1:]) {
			l.lose.Store(true)
		}
	}
	l.Conn.Write(p.data)
}

// reset makes a closed pipe look like a connection that the peer has closed.
func reset(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	select {
	case <-l.closed:
		return 0, io.EOF
	default:
	}
	if err == nil && (l.lose.Load() || l.mute.Load()) {
		l.Close()
		return 0, io.EOF
	}
	if d := l.back.Load(); d > 0 && err == nil && !l.subs.Load() {
		time.Sleep(time.Duration(d))
	}
	return n, reset(err)
}

// parse reads the first command of a request.
func parse(s string) []string {
	lines := strings.Split(s, "\r\n")
	var args []string
	for i := 2; i < len(lines); i += 2 {
		args = append(args, lines[i])
	}
	return args
}

// dropReply loses the answer to the n-th script call from now whose arguments
// contain part. The server has executed it by then.
func (w *world) dropReply(part string, n int) {
	var left atomic.Int64 // connections count down side by side
	left.Store(int64(n))
	f := func(cmd string, args []string) bool {
		if !strings.HasPrefix(strings.ToLower(cmd), "eval") || !strings.Contains(strings.Join(args, " "), part) {
			return false
		}
		return left.Add(-1) == 0
	}
	w.drop.Store(&f)
}

// arrived returns the commands so far.
func (w *world) arrived() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// count returns how many commands arrived whose text contains part.
func (w *world) count(part string) int {
	n := 0
	for _, e := range w.arrived() {
		if strings.Contains(strings.ToLower(e.cmd+" "+strings.Join(e.args, " ")), strings.ToLower(part)) {
			n++
		}
	}
	return n
}

// answers sets what answers in place of the server, where it returns true.
func (w *world) answers(f server.Hook) { w.answer.Store(&f) }

// occupy takes a lock for an hour, for an owner who sends nothing.
func (w *world) occupy(names ...string) {
	for _, name := range names {
		w.server.HSet(name, "someone:1", "1")
		w.server.SetTTL(name, time.Hour)
	}
}

// vacate ends what occupy began, and tells the subscribers.
func (w *world) vacate(name string) {
	w.server.Del(name)
	w.server.Publish("redisson_lock__channel:{"+name+"}", "0")
}

// seen returns when each command arrived since start, by its name and a part of its
// arguments.
func (w *world) seen(start time.Time, cmd, part string) []time.Duration {
	var at []time.Duration
	for _, e := range w.arrived() {
		if strings.EqualFold(e.cmd, cmd) && strings.Contains(strings.Join(e.args, " "), part) && !e.at.Before(start) {
			at = append(at, e.at.Sub(start))
		}
	}
	return at
}

// open returns the open connections.
func (w *world) open() []*link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.links), func(l *link) bool {
		select {
		case <-l.closed:
			return true
		default:
			return false
		}
	})
}

// subscribed returns the open connections for subscriptions.
func (w *world) subscribed() []*link {
	return slices.DeleteFunc(w.open(), func(l *link) bool { return !l.subs.Load() })
}

// script reports whether the entry is a script call.
func (e entry) script() bool { return strings.HasPrefix(strings.ToLower(e.cmd), "eval") }

// releases reports whether the entry releases a hold.
func (e entry) releases() bool {
	return e.script() && strings.Contains(strings.Join(e.args, " "), "redisson_lock__channel")
}

// renews returns the lock that the entry renews or extends; "" if it is something else.
func (e entry) renews() string {
	if !e.script() {
		return ""
	}
	if len(e.args) != 6 || e.args[1] != "1" {
		return ""
	}
	return e.args[2]
}
