package lock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// The Redis client repeats a request whose answer was lost. Without the latch
// an acquire would count twice, so that the lock stays locked after its
// release; and a release would say "not held" to the owner who released.
func TestRetry_sameRequestHasOneEffect(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithFencing()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx)) // loads the scripts
		must[int](t)(l.Unlock(ctx))
		token := uint64(0)
		for depth := 1; depth <= 2; depth++ {
			w.dropReply("holdfast_lock_token", 1)
			g := must[lock.Grant](t)(l.Lock(ctx))
			if n := must[int](t)(l.HoldCount(ctx)); n != depth || g.Count != depth || g.Token == 0 || depth == 2 && g.Token != token {
				t.Errorf("granted %+v, count on the server %d, want %d with one token", g, n, depth)
			}
			token = g.Token
		}
		for left := 1; left >= 0; left-- {
			w.dropReply("redisson_lock__channel", 1)
			if n := must[int](t)(l.Unlock(ctx)); n != left {
				t.Errorf("%d holds remain, want %d", n, left)
			}
		}
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("the lock is still locked")
		}
	})
}

func noRetries(o *redis.Options) { o.MaxRetries = -1 }

// inBothWays runs f with a Redis client that ignores the deadlines of contexts, and with
// one that keeps them. The lock leaves deadlines to the second one.
func inBothWays(t *testing.T, name string, f func(t *testing.T, change func(*redis.Options))) {
	t.Run(name+"/go-redis defaults", func(t *testing.T) { f(t, func(*redis.Options) {}) })
	t.Run(name+"/ContextTimeoutEnabled", func(t *testing.T) {
		f(t, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	})
}

// An acquire that failed in transport may have been carried out. It must not
// keep others out, nor take an outer hold with it when it is undone.
func TestLock_unknownOutcomeIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithFencing())
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		must[lock.Grant](t)(b.Lock(ctx))
		must[int](t)(b.Unlock(ctx))

		w.loseAnswers("holdfast_lock_token")
		_, err := a.TryLock(ctx)
		wantErr(t, "lost answers", err, lock.ErrUnknown)
		w.drop.Store(nil)
		must[lock.Grant](t)(b.TryLock(ctx))

		f := func(cmd string, args []string) bool {
			e := entry{cmd: cmd, args: args}
			return e.script() && !e.releases()
		}
		w.drop.Store(&f)
		_, err = b.TryLock(ctx)
		wantErr(t, "lost answers within a hold", err, lock.ErrUnknown)
		w.drop.Store(nil)
		if n := must[int](t)(b.HoldCount(ctx)); n != 1 {
			t.Errorf("hold count %d, want the outer hold only", n)
		}
		if n := must[int](t)(b.Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain", n)
		}
		if locked := must[bool](t)(a.IsLocked(ctx)); locked {
			t.Error("an orphan keeps the lock")
		}
	})
}

// The network keeps a request back until after its compensation. The request must not
// take the lock for an owner that went away.
func TestLock_lateRequestIsCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries)).NewLock("orders", "a")
		w.loadScripts()
		w.loseAnswers("holdfast_lock_note:{orders}:client-1:a client-1")
		before := len(w.calls(acquires))
		_, err := l.TryLock(ctx)
		wantErr(t, "lost answers", err, lock.ErrUnknown)
		w.drop.Store(nil)
		late := w.calls(acquires)[before].args
		args := []any{"evalsha"}
		for _, a := range late {
			args = append(args, a)
		}
		// The script was sent by its SHA first, and is known by now.
		must[lock.Grant](t)(l.TryLock(ctx))
		must[int](t)(l.Unlock(ctx))
		if _, err := w.redis().Do(ctx, args...).Result(); err != nil {
			t.Fatal(err)
		}
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("the late request took the lock")
		}
	})
}

// Unlock may be called again after it could not tell, and means the same hold.
// A compensation meets a dead connection. It tries another one before the Redis
// client gives the first one up, so its owner goes on soon.
func TestLock_isTakenBackBesideADeadConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(noRetries))
		for _, name := range []string{"one", "two"} { // two connections
			go c.NewLock(name, "a").TryLock(t.Context())
		}
		time.Sleep(time.Second)
		for _, l := range w.open() {
			l.mute.Store(true)
		}
		l := c.NewLock("orders", "a")
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := l.TryLock(short); !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		must[lock.Grant](t)(l.TryLock(soon))
	})
}

func TestUnlock_unknownOutcomeMayBeRetried(t *testing.T) {
	inBothWays(t, "", unlockUnknown)
}

func unlockUnknown(t *testing.T, change func(*redis.Options)) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries, change), lock.WithUnlockTimeout(100*time.Millisecond)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		held := l.Context(ctx)
		w.hung.Store(true)
		start := time.Now()
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock on a hung server", err, lock.ErrUnknown)
		if d := time.Since(start); d > 110*time.Millisecond {
			t.Errorf("unlock took %v, its timeout is 100ms", d)
		}
		if context.Cause(held) != lock.ErrUnknown {
			t.Errorf("context of the hold ended with %v", context.Cause(held))
		}
		w.hung.Store(false)
		renewals := w.count("client-1:a 30000")
		if n := must[int](t)(l.Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain", n)
		}
		_, err = l.Unlock(ctx)
		wantErr(t, "third unlock", err, lock.ErrNotHeld)
		time.Sleep(time.Minute)
		if n := w.count("client-1:a 30000") - renewals; n != 0 {
			t.Errorf("%d renewals after the release", n)
		}
	})
}

// Cleanup code runs with the context that was cancelled.
func TestUnlock_survivesCancelledContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		cancel()
		if n := must[int](t)(l.Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain", n)
		}
		if locked := must[bool](t)(l.IsLocked(t.Context())); locked {
			t.Error("the lock is still locked")
		}
	})
}

// A wait that is not bounded when the server hangs stalls the whole service.
func TestWait_isBoundedOnAHungServer(t *testing.T) {
	tests := []struct {
		name string
		do   func(ctx context.Context, l *lock.Reentrant) error
		max  time.Duration
		want error
	}{
		{"try", func(ctx context.Context, l *lock.Reentrant) error { _, err := l.TryLock(ctx); return err }, 5500 * time.Millisecond, lock.ErrUnknown},
		{"wait", func(ctx context.Context, l *lock.Reentrant) error {
			_, err := l.TryLock(ctx, lock.Wait(2*time.Second))
			return err
		}, 2500 * time.Millisecond, lock.ErrUnknown},
		{"context", func(ctx context.Context, l *lock.Reentrant) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := l.Lock(ctx)
			if !errors.Is(err, lock.ErrUnknown) {
				return errors.New("the request's outcome is not known, but was not said to be")
			}
			return errors.Unwrap(errors.Join(ctx.Err())) // nil: checked below
		}, 1500 * time.Millisecond, nil},
	}
	for _, tt := range tests {
		inBothWays(t, tt.name, func(t *testing.T, change func(*redis.Options)) {
			inBubble(t, func(t *testing.T, w *world) {
				rdb := w.redis(change)
				if err := rdb.Ping(t.Context()).Err(); err != nil { // else the request is not even written
					t.Fatal(err)
				}
				w.hung.Store(true)
				l := w.clientOn(rdb).NewLock("orders", "a")
				start := time.Now()
				err := tt.do(t.Context(), l)
				if tt.want != nil {
					wantErr(t, tt.name, err, tt.want)
				} else if err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > tt.max {
					t.Errorf("returned after %v, want %v at most", d, tt.max)
				}
				w.hung.Store(false)
			})
		})
	}
}

// A wait that has sent a request twice takes the last request back, and with it
// the copies of all.
func TestWait_takesRequestsBackOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		must[lock.Grant](t)(w.client().NewLock("orders", "a").Lock(ctx))
		b := w.client(lock.WithSafetyPoll(time.Second)).NewLock("orders", "b")
		w.dropReply("orders", 1) // so that its first request goes out twice
		start := time.Now()
		time.AfterFunc(1500*time.Millisecond, func() { w.hung.Store(true) })
		_, err := b.TryLock(ctx, lock.Wait(3*time.Second))
		wantErr(t, "no answer", err, lock.ErrUnknown)
		if d := time.Since(start); d > 3600*time.Millisecond {
			t.Errorf("returned after %v; the wait was 3s, and a compensation may take 500ms", d)
		}
	})
}

func TestLock_cancelledContext(t *testing.T) {
	inBothWays(t, "", cancelledContext)
}

func cancelledContext(t *testing.T, change func(*redis.Options)) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(change))
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		must[lock.Grant](t)(a.Lock(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1234*time.Millisecond, cancel)
		start := time.Now()
		_, err := b.Lock(ctx)
		wantErr(t, "cancelled wait", err, context.Canceled)
		if d := time.Since(start); d != 1234*time.Millisecond {
			t.Errorf("returned after %v, was cancelled after 1.234s", d)
		}
		_, err = b.Lock(ctx)
		wantErr(t, "cancelled before", err, context.Canceled)
		must[int](t)(a.Unlock(t.Context()))
		if locked := must[bool](t)(a.IsLocked(t.Context())); locked {
			t.Error("the cancelled waiter has the lock")
		}
	})
}

// Scripts are forgotten when a server restarts or a replica takes over.
func TestLock_scriptFlush(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx))
			w.redis().ScriptFlush(ctx)
			time.Sleep(35 * time.Second) // a renewal, too
			if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl < 20*time.Second {
				t.Errorf("TTL %v", ttl)
			}
			must[int](t)(l.Unlock(ctx))
			w.redis().ScriptFlush(ctx)
		}
	})
}

// miniredis has no replicas, so no acknowledgement ever comes.
// The wait ends while the replicas have yet to confirm. The grant is taken back for
// certain, so the outcome is known.
func TestReplicaAcks_theWaitEndsFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.setLatency(40 * time.Millisecond)
		l := w.client(lock.WithReplicaAcks(1, 50*time.Millisecond)).NewLock("orders", "a")
		_, err := l.TryLock(ctx) // it has a connection then, and the server the scripts
		wantErr(t, "a try", err, lock.ErrAcks)
		if w.server.Exists("orders") {
			t.Error("the lock is not free when the call returns")
		}
		_, err = l.TryLock(ctx, lock.Wait(30*time.Millisecond))
		wantErr(t, "a short wait", err, lock.ErrAcks)
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("a hold that was not confirmed was not given back")
		}
	})
}

func TestReplicaAcks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithReplicaAcks(1, 50*time.Millisecond)).NewLock("orders", "a")
		_, err := l.TryLock(ctx)
		wantErr(t, "try", err, lock.ErrAcks)
		_, err = l.TryLock(ctx, lock.Wait(3*time.Second))
		wantErr(t, "wait", err, lock.ErrAcks)
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("a hold that was not confirmed was not given back")
		}
		if n := w.count("WAIT 1 50"); n < 3 {
			t.Errorf("%d tries, want more within the wait", n)
		}
	})
}

// A server without a replica takes the whole time for a confirmation. A busy lock has nothing
// to confirm, so the owner learns of that at once.
func TestReplicaAcks_aBusyLockHasNothingToConfirm(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		must[lock.Grant](t)(w.client().NewLock("orders", "holder").TryLock(ctx))
		start := time.Now()
		_, err := w.client(lock.WithReplicaAcks(1, time.Second)).NewLock("orders", "a").TryLock(ctx)
		wantErr(t, "a try", err, lock.ErrBusy)
		if d := time.Since(start); d > 100*time.Millisecond || w.count("WAIT") > 0 {
			t.Errorf("it took %v and asked the replicas", d)
		}
	})
}

// A server that cannot be reached, or that answers with an error, has not taken the lock.
// The call returns that error as fast as any other command, and nothing has to be taken
// back.
func TestLock_refused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithFencing()).NewLock("orders", "a")
		w.server.Set("orders", "something else")
		_, err := l.TryLock(ctx)
		wantErr(t, "a key of another type", err, lock.ErrRefused)
		if n := w.count("EVAL"); n != 2 {
			t.Errorf("%d scripts were sent, want the acquire by its SHA and its source", n)
		}
		w.server.Del("orders")
		w.server.Lpush("holdfast_lock_token:{orders}", "something else")
		_, err = l.TryLock(ctx)
		wantErr(t, "a token of another type", err, lock.ErrRefused)
		if w.server.Exists("orders") {
			t.Error("an acquire that failed has taken the lock")
		}

		var dials atomic.Int32
		down := w.redis(func(o *redis.Options) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
		})
		down.Set(ctx, "x", 1, 0)
		asOne := dials.Load()
		other := w.clientOn(down).NewLock("orders", "a")
		for range 2 {
			dials.Store(0)
			_, err = other.TryLock(ctx)
			wantErr(t, "connection refused", err, lock.ErrRefused)
			if n := dials.Load(); n > asOne {
				t.Errorf("it dialled %d times, want %d at most, as a SET", n, asOne)
			}
		}
	})
}

// A request that was lost, and whose repetition is refused, may have been
// carried out.
func TestLock_refusedTheSecondTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var down atomic.Bool
		rdb := w.redis(func(o *redis.Options) {
			dial := o.Dialer
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if down.Load() {
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return dial(ctx, network, addr)
			}
		})
		l := w.clientOn(rdb).NewLock("orders", "a")
		must[lock.Grant](t)(l.TryLock(ctx))
		must[int](t)(l.Unlock(ctx))
		w.dropReply("orders", 1)
		time.AfterFunc(500*time.Microsecond, func() { down.Store(true) })
		_, err := l.TryLock(ctx)
		wantErr(t, "lost, then refused", err, lock.ErrUnknown)
		down.Store(false)
		time.Sleep(time.Second)
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("it was not taken back")
		}
	})
}

// A server that comes back after the tries of a compensation must not keep others out for
// the rest of an unused lease.
func TestLock_isTakenBackWhenTheServerComesBack(t *testing.T) {
	for _, closed := range []bool{false, true} {
		inBubble(t, func(t *testing.T, w *world) {
			ctx := t.Context()
			var down atomic.Bool
			c := w.clientOn(w.redis(noRetries, func(o *redis.Options) {
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if down.Load() {
						return nil, syscall.ECONNREFUSED
					}
					return w.dial(ctx, network, addr)
				}
			}), lock.WithWatchdogTimeout(time.Minute))
			a, b := c.NewLock("orders", "a"), w.client().NewLock("orders", "b")
			must[lock.Grant](t)(a.TryLock(ctx))
			must[int](t)(a.Unlock(ctx))
			w.dropReply("orders", 1)
			down.Store(true) // for new connections: the one that is there still carries the request
			_, err := a.TryLock(ctx)
			wantErr(t, "lost reply", err, lock.ErrUnknown)
			time.Sleep(20 * time.Second)
			_, err = b.TryLock(ctx)
			wantErr(t, "nobody could tell the server", err, lock.ErrBusy)
			if closed {
				c.Close()
			}
			down.Store(false)
			time.Sleep(1500 * time.Millisecond)
			_, err = b.TryLock(ctx)
			switch {
			case closed:
				wantErr(t, "the client was closed", err, lock.ErrBusy)
				time.Sleep(time.Minute)
				must[lock.Grant](t)(b.TryLock(ctx))
			case err != nil:
				t.Errorf("the server is back, and the acquire was not taken back: %v", err)
			}
		})
	}
}
