package lock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// The client pings a connection that is silent, and no other. A server that has gone
// without a word must not keep a release from the waiter.
func TestSubscription_isPingedWhenSilent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.occupy("orders", "stock")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		start := time.Now()
		waiting(ctx, t, c, "orders", "a")
		last := time.Duration(0)
		time.Sleep(time.Minute)
		pings := w.seen(start, "ping", "")
		for _, at := range append(pings, time.Minute) {
			if silent := at - last; silent < 5*time.Second || silent > 10*time.Second+10*time.Millisecond {
				if at < time.Minute || silent > 10*time.Second {
					t.Errorf("pinged at %v, after %v of silence", at, silent)
				}
			}
			last = at
		}

		// Messages are a sign of life, be they of use or not.
		start = time.Now()
		for range 30 {
			time.Sleep(time.Second)
			w.server.Publish("redisson_lock__channel:{orders}", "0")
		}
		if pings := w.seen(start, "ping", ""); len(pings) > 1 {
			t.Errorf("pinged at %v in spite of messages", pings)
		}

		// Other waiters of the lock are none.
		time.Sleep(5 * time.Second)
		start = time.Now()
		for i := range 30 {
			waiting(ctx, t, c, "orders", fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		if pings := w.seen(start, "ping", ""); len(pings) < 3 {
			t.Errorf("pinged at %v in 30s without a message", pings)
		}
		if n := w.count("SUBSCRIBE redisson"); n != 1 {
			t.Errorf("%d times subscribed, want once", n)
		}
	})
}

// A waiter that comes while a ping is on its way does not take that for an answer
// that is late.
func TestSubscription_joinedDuringAPing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		waiting(ctx, t, c, "orders", "first")
		time.Sleep(4950 * time.Millisecond)
		w.setLatency(100 * time.Millisecond)
		waiting(ctx, t, c, "orders", "second") // joins after 5.05s
		time.Sleep(10 * time.Second)
		if pings := w.seen(start, "ping", ""); len(pings) == 0 || pings[0] < 5060*time.Millisecond || pings[0] > 5140*time.Millisecond {
			t.Fatalf("pings arrived at %v, and none was on its way after 5.05s", pings)
		}
		if n := w.count("SUBSCRIBE redisson"); n != 1 {
			t.Errorf("%d times subscribed, want once", n)
		}
	})
}

// A connection on which the server has fallen silent is replaced after five seconds
// without a sign of life and five without an answer.
func TestSubscription_isReplacedWhenItDoesNotAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders")
		start := time.Now()
		granted := waiting(t.Context(), t, w.client(lock.WithSafetyPoll(time.Hour)), "orders", "a")
		time.Sleep(3300 * time.Millisecond)
		for _, l := range w.subscribed() {
			l.mute.Store(true)
		}
		w.server.Del("orders")
		soon(t, "free since 3.3s", granted, start, 10*time.Second+20*time.Millisecond)
	})
}

// A connection that breaks may have taken a message with it, so it is replaced at once.
func TestSubscription_isReplacedWhenItBreaks(t *testing.T) {
	for _, at := range []time.Duration{3300 * time.Millisecond, 7700 * time.Millisecond} {
		inBubble(t, func(t *testing.T, w *world) {
			w.occupy("orders")
			start := time.Now()
			granted := waiting(t.Context(), t, w.client(lock.WithSafetyPoll(time.Hour)), "orders", "a")
			time.Sleep(at)
			w.server.Del("orders")
			for _, l := range w.subscribed() {
				l.Close()
			}
			soon(t, "free with the connection", granted, start, at+10*time.Millisecond)
		})
	}
}

// dialer refuses connections while down is set, and notes the times of all attempts.
type dialer struct {
	w    *world
	down atomic.Bool

	mu       sync.Mutex
	attempts []time.Time
}

func (d *dialer) redis() *redis.Client {
	return d.w.redis(noRetries, func(o *redis.Options) { o.DialerRetries, o.Dialer = 1, d.dial })
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if ctx.Err() != nil { // the Redis client does not mean it
		return nil, ctx.Err()
	}
	d.mu.Lock()
	d.attempts = append(d.attempts, time.Now())
	d.mu.Unlock()
	if d.down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	return d.w.dial(ctx, network, addr)
}

// since returns the attempts from start on.
func (d *dialer) since(start time.Time) []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var at []time.Duration
	for _, a := range d.attempts {
		if !a.Before(start) {
			at = append(at, a.Sub(start))
		}
	}
	return at
}

// The pauses between attempts to subscribe double from a tenth of a second up to two
// seconds. Waiters that come meanwhile do not shorten them, and success does.
func TestSubscription_attemptsHavePauses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		d := &dialer{w: w}
		c := w.clientOn(d.redis(), lock.WithSafetyPoll(time.Hour))
		w.occupy("orders", "stock")
		must[bool](t)(c.NewLock("orders", "a").IsLocked(ctx)) // it has a connection then
		d.down.Store(true)
		start := time.Now()
		orders := waiting(ctx, t, c, "orders", "a")
		time.Sleep(50 * time.Millisecond)
		stock := waiting(ctx, t, c, "stock", "a")
		time.Sleep(8 * time.Second)
		const ms = time.Millisecond
		same(t, "attempts", d.since(start), 0, 100*ms, 300*ms, 700*ms, 1500*ms, 3100*ms, 5100*ms, 7100*ms)
		d.down.Store(false)
		w.server.Del("orders")
		soon(t, "free when the server comes back", orders, start, 9120*ms)

		d.down.Store(true)
		start = time.Now()
		for _, l := range w.subscribed() {
			l.Close()
		}
		time.Sleep(time.Second)
		same(t, "attempts after a success", d.since(start), 0, 100*ms, 300*ms, 700*ms)
		d.down.Store(false)
		w.server.Del("stock")
		soon(t, "free when the server comes back again", stock, start, 1520*ms)
	})
}

// A waiter that comes after others have given up on a server begins without a pause.
func TestSubscription_pausesEndWithTheWaiters(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		d := &dialer{w: w}
		c := w.clientOn(d.redis(), lock.WithSafetyPoll(time.Hour))
		w.occupy("orders")
		l := c.NewLock("orders", "a")
		must[bool](t)(l.IsLocked(ctx))
		d.down.Store(true)
		_, err := l.TryLock(ctx, lock.Wait(3200*time.Millisecond))
		wantErr(t, "nobody releases", err, lock.ErrBusy)
		time.Sleep(1100 * time.Millisecond)
		d.down.Store(false)
		start := time.Now()
		granted := waiting(ctx, t, c, "orders", "b")
		time.Sleep(20 * time.Millisecond)
		w.vacate("orders")
		soon(t, "released", granted, start, 30*time.Millisecond)
	})
}

// A server that ends a subscription of its own accord, as at the move of a slot, is
// asked for it again.
func TestSubscription_endedByTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var peer atomic.Pointer[server.Peer]
		w.answers(func(p *server.Peer, cmd string, _ ...string) bool {
			if cmd == "SUBSCRIBE" {
				peer.Store(p)
			}
			return false
		})
		w.occupy("orders")
		start := time.Now()
		granted := waiting(t.Context(), t, w.client(lock.WithSafetyPoll(time.Hour)), "orders", "a")
		time.Sleep(1300 * time.Millisecond)
		push(peer.Load(), "unsubscribe", "redisson_lock__channel:{orders}", 0)
		time.Sleep(time.Second)
		same(t, "subscribed", w.seen(start, "subscribe", "{orders}"), 0, 1300*time.Millisecond)
		start = time.Now()
		w.vacate("orders")
		soon(t, "released", granted, start, 5*time.Millisecond)
	})
}

// unwritable is a connection that takes no subscription.
type unwritable struct{ net.Conn }

func (c unwritable) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "subscribe") {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// A connection that breaks under the first command is closed, and the next one serves.
func TestSubscription_cannotBeWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var broken atomic.Bool
		rdb := w.redis(func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := w.dial(ctx, network, addr)
				if broken.Load() && err == nil {
					conn = unwritable{conn}
				}
				return conn, err
			}
		})
		c := w.clientOn(rdb, lock.WithSafetyPoll(time.Hour))
		w.occupy("orders")
		must[bool](t)(c.NewLock("orders", "a").IsLocked(t.Context()))
		before := len(w.open())
		broken.Store(true)
		start := time.Now()
		granted := waiting(t.Context(), t, c, "orders", "a")
		time.Sleep(650 * time.Millisecond)
		if n := len(w.open()) - before; n != 0 {
			t.Errorf("%d broken connections are open", n)
		}
		broken.Store(false)
		time.Sleep(100 * time.Millisecond)
		w.vacate("orders")
		soon(t, "released", granted, start, 760*time.Millisecond)
	})
}

// A connection that breaks under a later command is replaced at once.
func TestSubscription_cannotBeWrittenAnyMore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var broken atomic.Bool
		rdb := w.redis(func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := w.dial(ctx, network, addr)
				return breakable{conn, &broken}, err
			}
		})
		c := w.clientOn(rdb, lock.WithSafetyPoll(time.Hour))
		w.occupy("orders", "stock")
		orders := waiting(t.Context(), t, c, "orders", "a")
		time.Sleep(time.Second)
		broken.Store(true)
		stock := waiting(t.Context(), t, c, "stock", "a")
		time.Sleep(20 * time.Millisecond)
		start := time.Now()
		w.vacate("orders")
		soon(t, "orders", orders, start, 5*time.Millisecond)
		w.vacate("stock")
		soon(t, "stock", stock, start, 5*time.Millisecond)
		if n := len(w.subscribed()); n != 1 {
			t.Errorf("%d connections for subscriptions, want one", n)
		}
	})
}

// breakable is a connection that breaks under the next subscription.
type breakable struct {
	net.Conn
	broken *atomic.Bool
}

func (c breakable) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "subscribe") && c.broken.CompareAndSwap(true, false) {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// A user has no right to any channel, as a new one of Redis 7. Its waiter polls, and does
// not connect again and again.
func TestSubscription_isForbidden(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders")
		w.answers(func(p *server.Peer, cmd string, _ ...string) bool {
			if !strings.EqualFold(cmd, "subscribe") {
				return false
			}
			p.WriteError("NOPERM this user has no permissions to access one of the channels used as arguments")
			return true
		})
		start := time.Now()
		_, err := w.client().NewLock("orders", "a").TryLock(t.Context(), lock.Wait(20*time.Second))
		wantErr(t, "a wait", err, lock.ErrBusy)
		if n := len(w.seen(start, "subscribe", "")); n < 2 || n > 16 {
			t.Errorf("it subscribed %d times in 20s", n)
		}
		if n := w.tries("client-1:a"); n < 15 || n > 30 {
			t.Errorf("it tried %d times in 20s, want once a second", n)
		}
	})
}
