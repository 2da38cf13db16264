package lock_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// waiting waits for a lock in the background, and tells when it was granted.
func waiting(ctx context.Context, t *testing.T, c *lock.Client, name, owner string) <-chan time.Time {
	t.Helper()
	granted := make(chan time.Time, 1)
	go func() {
		defer close(granted)
		if _, err := c.NewLock(name, owner).Lock(ctx); err == nil {
			granted <- time.Now()
		}
	}()
	return granted
}

// soon checks that the lock was granted within d after start.
func soon(t *testing.T, what string, granted <-chan time.Time, start time.Time, d time.Duration) {
	t.Helper()
	at, ok := <-granted
	if took := at.Sub(start); !ok || took > d {
		t.Errorf("%s: granted %v, after %v, want %v at most", what, ok, took, d)
	}
}

// same checks that each of the times is in its place, with a trip or two of delay.
func same(t *testing.T, what string, got []time.Duration, want ...time.Duration) {
	t.Helper()
	ok := slices.EqualFunc(got, want, func(got, want time.Duration) bool {
		return got >= want && got < want+10*time.Millisecond
	})
	if !ok {
		t.Errorf("%s: at %v, want %v", what, got, want)
	}
}

// Each lock is subscribed to for as long as somebody waits for it and a second more.
// Other locks on the connection do not change that.
func TestSubscription_lingersForASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const ms = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := w.client(lock.WithSafetyPoll(time.Hour))
		w.occupy("a", "b", "c", "d", "e", "stays")
		start := time.Now()
		waiting(ctx, t, c, "stays", "x")
		for name, d := range map[string]time.Duration{"a": 100 * ms, "b": 400 * ms, "c": 400 * ms, "d": 300 * ms, "e": 600 * ms} {
			go c.NewLock(name, "x").TryLock(ctx, lock.Wait(d))
		}
		time.Sleep(1100 * ms)
		go c.NewLock("e", "x").TryLock(ctx, lock.Wait(900*ms)) // comes back in time
		time.Sleep(2900 * ms)
		for name, d := range map[string]time.Duration{"a": 1100 * ms, "b": 1400 * ms, "c": 1400 * ms, "d": 1300 * ms, "e": 3000 * ms} {
			same(t, name+" unsubscribed", w.seen(start, "unsubscribe", "{"+name+"}"), d)
			same(t, name+" subscribed", w.seen(start, "subscribe", "{"+name+"}"), 0)
		}
		// e came back when it was subscribed to, and so had to look again at once.
		same(t, "e asked", w.seen(start, "evalsha", " e "), 0, 0, 1100*ms, 1100*ms)

		// A lock that comes back later is subscribed to as if it were new.
		start = time.Now()
		granted := waiting(ctx, t, c, "a", "y")
		time.Sleep(500 * ms)
		same(t, "subscribed again", w.seen(start, "subscribe", "{a}"), 0)
		same(t, "asked again", w.seen(start, "evalsha", " a "), 0, 0)
		w.vacate("a")
		soon(t, "released", granted, start, 510*ms)
		time.Sleep(20 * time.Second)
		if n := len(w.subscribed()); n != 1 {
			t.Errorf("%d connections for subscriptions, want one", n)
		}
		same(t, "stays subscribed", w.seen(start, "subscribe", "{stays}"))
	})
}

// A waiter that comes while the subscription is being ended is not forgotten.
func TestSubscription_joinedWhileItEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const ms = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := w.client(lock.WithSafetyPoll(time.Hour))
		w.occupy("a", "stays")
		waiting(ctx, t, c, "stays", "x")
		go c.NewLock("a", "x").TryLock(ctx, lock.Wait(100*ms))
		time.Sleep(1070 * ms)
		w.setLatency(50 * ms)
		start := time.Now()
		granted := waiting(ctx, t, c, "a", "y") // learns in these 50ms that the lock is busy
		time.Sleep(500 * ms)
		if n := len(w.seen(start, "subscribe", "{a}")); n != 1 {
			t.Errorf("subscribed %d times, want once", n)
		}
		start = time.Now()
		w.vacate("a")
		soon(t, "released", granted, start, 60*ms)
	})
}

// One command is under way at a time. A lock that somebody comes to wait for meanwhile
// is subscribed to when that is answered, on the same connection.
func TestSubscription_addsLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const ms = time.Millisecond
		ctx := t.Context()
		c := w.client(lock.WithSafetyPoll(time.Hour))
		w.occupy("a", "b", "c", "d")
		start := time.Now()
		var granted []<-chan time.Time
		for _, name := range []string{"a", "b", "c", "d"} {
			granted = append(granted, waiting(ctx, t, c, name, "x"))
			time.Sleep(1500 * time.Microsecond)
		}
		time.Sleep(100 * ms)
		for i, name := range []string{"a", "b", "c", "d"} {
			if got := w.seen(start, "subscribe", "{"+name+"}"); len(got) != 1 || got[0] > 10*ms {
				t.Errorf("%s subscribed to at %v, want once and soon", name, got)
			}
			same(t, name+" asked", w.seen(start, "evalsha", " "+name+" "), 0, 0)
			now := time.Now()
			w.vacate(name)
			soon(t, name, granted[i], now, 2*ms)
		}
		if n := len(w.subscribed()); n != 1 {
			t.Errorf("%d connections for subscriptions, want one", n)
		}
		// Answers have come, so none is waited for.
		w.occupy("e")
		waiting(ctx, t, c, "e", "x")
		time.Sleep(20 * time.Second)
		if n := len(w.seen(start, "subscribe", "{e}")); n != 1 {
			t.Errorf("%d times subscribed to e, want once", n)
		}
		w.vacate("e")
		synctest.Wait()
	})
}

// slowToClose is a connection whose end takes a while.
type slowToClose struct{ net.Conn }

func (c slowToClose) Close() error {
	time.Sleep(20 * time.Millisecond)
	return c.Conn.Close()
}

// A waiter that comes while the connection is being closed gets a new one.
func TestSubscription_joinedWhileTheConnectionCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := w.dial(ctx, network, addr)
				return slowToClose{conn}, err
			}
		}), lock.WithSafetyPoll(time.Hour))
		w.occupy("orders")
		_, err := c.NewLock("orders", "a").TryLock(ctx, lock.Wait(500*time.Millisecond))
		wantErr(t, "nobody releases", err, lock.ErrBusy)
		time.Sleep(1010 * time.Millisecond)
		granted := waiting(ctx, t, c, "orders", "b")
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		w.vacate("orders")
		soon(t, "released", granted, start, 5*time.Millisecond)
		time.Sleep(2 * time.Second) // until the connection has ended
	})
}

// A lock that somebody comes to wait for while a ping is on its way is subscribed to
// when that is answered.
func TestSubscription_addsLocksAfterAPing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders", "stock")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waiting(ctx, t, c, "orders", "a")
		time.Sleep(4950 * time.Millisecond)
		w.setLatency(100 * time.Millisecond)
		granted := waiting(ctx, t, c, "stock", "a") // joins after 5.05s, the ping is on its way until 5.103s
		time.Sleep(time.Second)
		start := time.Now()
		w.vacate("stock")
		soon(t, "stock", granted, start, 200*time.Millisecond)
	})
}
