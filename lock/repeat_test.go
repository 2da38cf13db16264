package lock_test

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// copyOf returns the last request so far that ran the script whose text
// contains part, to be sent once more.
func (w *world) copyOf(part string) []any {
	w.t.Helper()
	var found []any
	scripts := map[string]bool{}
	for _, e := range w.arrived() {
		switch strings.ToLower(e.cmd) {
		case "eval":
			if !strings.Contains(e.args[0], part) {
				continue
			}
			sum := sha1.Sum([]byte(e.args[0]))
			scripts[hex.EncodeToString(sum[:])] = true
		case "evalsha":
			if !scripts[e.args[0]] {
				continue
			}
		default:
			continue
		}
		found = e.request()
	}
	if found == nil {
		w.t.Fatalf("no request ran a script about %q", part)
	}
	return found
}

// request is the command as it can be sent once more.
func (e entry) request() []any {
	all := []any{e.cmd}
	for _, a := range e.args {
		all = append(all, a)
	}
	return all
}

// again sends a copy of a request.
func (w *world) again(request []any) {
	w.t.Helper()
	if err := w.redis().Do(w.t.Context(), request...).Err(); err != nil && err != redis.Nil {
		w.t.Fatal(err)
	}
}

// A compensation goes out in several copies, by the client's retries and its
// own. One that arrives when the owner has the lock again must leave it alone.
func TestCopy_ofACompensation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries)).NewLock("orders", "a")
		w.loseAnswers("holdfast_lock_note:{orders}:client-1:a client-1")
		_, err := l.TryLock(ctx)
		wantErr(t, "lost answers", err, lock.ErrUnknown)
		w.drop.Store(nil)
		time.Sleep(time.Second)
		late := w.copyOf("Gives holds back")
		must[lock.Grant](t)(l.TryLock(ctx))
		w.again(late)
		if n := must[int](t)(l.HoldCount(ctx)); n != 1 {
			t.Fatalf("the server counts %d holds, want 1", n)
		}
		must[lock.Grant](t)(l.TryLock(ctx))
		w.again(late)
		if n := must[int](t)(l.HoldCount(ctx)); n != 2 {
			t.Errorf("the server counts %d holds, want 2", n)
		}
	})
}

// A release that the network kept for longer than the server remembers it must
// not end a later hold.
func TestCopy_ofARelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[int](t)(l.Unlock(ctx))
		late := w.copyOf("Gives holds back")
		for _, wait := range []time.Duration{0, 11 * time.Second, 2 * time.Minute} {
			time.Sleep(wait)
			must[lock.Grant](t)(l.Lock(ctx))
			w.again(late)
			if n := must[int](t)(l.HoldCount(ctx)); n != 1 {
				t.Fatalf("after %v the server counts %d holds, want 1", wait, n)
			}
			must[int](t)(l.Unlock(ctx))
		}
	})
}

// An acquire goes out twice, and the answer to the second one is that somebody else has
// the lock. The first one arrives when the lock is free, and no call waits for it.
func TestCopy_ofARefusedAcquire(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		holder, refused := w.client().NewLock("orders", "a"), w.client().NewLock("orders", "b")
		must[lock.Grant](t)(holder.Lock(ctx))
		w.dropReply("orders", 1)
		_, err := refused.TryLock(ctx)
		wantErr(t, "somebody else has the lock", err, lock.ErrBusy)
		late := w.copyOf("Takes one hold")
		must[int](t)(holder.Unlock(ctx))
		for _, wait := range []time.Duration{0, 25 * time.Second} {
			time.Sleep(wait)
			w.again(late)
			if n := must[int](t)(refused.HoldCount(ctx)); n != 0 {
				t.Fatalf("after %v the server counts %d holds, want 0", wait, n)
			}
		}
	})
}

// The network keeps a copy of an acquire for long. By then its hold is released, and no
// call would release a second one.
func TestCopy_ofAnAcquireAfterItsRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		w.loadScripts()
		w.dropReply("client-1:a", 1) // so that it is sent again
		must[lock.Grant](t)(l.Lock(ctx))
		late := w.copyOf("Takes one hold")
		must[int](t)(l.Unlock(ctx))
		time.Sleep(25 * time.Second)
		w.again(late)
		if n := must[int](t)(l.HoldCount(ctx)); n != 0 {
			t.Errorf("the server counts %d holds, want 0", n)
		}
	})
}

// A release finds the hold gone. That overrules a copy of the acquire as well. And a copy of
// the release has the same answer.
func TestCopy_ofAnAcquireAfterItsLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		for _, kind := range []struct {
			acquire            func() (*lock.Hold, error)
			acquires, releases string
		}{
			{func() (*lock.Hold, error) { return c.Acquire(ctx, "orders") }, "Takes one hold", "Gives holds back"},
			{func() (*lock.Hold, error) { return c.NewFairLock("orders").Acquire(ctx) }, fairAcquires, fairReleases},
		} {
			h := must[*lock.Hold](t)(kind.acquire())
			acquire := w.copyOf(kind.acquires)
			w.server.Del("orders")
			wantErr(t, "the hold is gone", h.Release(ctx), lock.ErrLost)
			release := w.copyOf(kind.releases)
			w.again(acquire)
			if w.server.Exists("orders") {
				t.Errorf("%s: the late one took the lock", kind.acquires)
			}
			if n, err := w.redis().Do(ctx, release...).Int(); n != 0 || err != nil {
				t.Errorf("%s: the second one has the answer %d, %v", kind.releases, n, err)
			}
			w.gives(must[*lock.Hold](t)(kind.acquire()))
		}
	})
}

// The first acquire arrives once more while its hold lasts: it is still the
// same hold, with the same token, and nested as deep.
func TestCopy_ofAFirstAcquire(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithFencing()).NewLock("orders", "a")
		g := must[lock.Grant](t)(l.Lock(ctx))
		late := w.copyOf("Takes one hold")
		must[lock.Grant](t)(l.Lock(ctx))
		time.Sleep(3 * time.Minute)
		w.again(late)
		if n := must[int](t)(l.HoldCount(ctx)); n != 2 {
			t.Errorf("the server counts %d holds, want 2", n)
		}
		for range 2 {
			must[int](t)(l.Unlock(ctx))
		}
		if next := must[lock.Grant](t)(l.Lock(ctx)); next.Token == g.Token+2 {
			t.Errorf("tokens %d, then %d: the copy has minted one in between", g.Token, next.Token)
		}
	})
}

// A renewal names its hold: one of an earlier hold does not prolong a later one.
func TestCopy_ofARenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		time.Sleep(15 * time.Second)
		late := w.copyOf("Makes a hold last")
		must[int](t)(l.Unlock(ctx))
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(5*time.Second)))
		w.again(late)
		if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl > 5*time.Second {
			t.Errorf("the hold lasts %v more, its lease was 5s", ttl)
		}
	})
}

// The serials of a restarted client go on where those of the earlier process ended. That
// also holds after the clock of its machine was set back.
func TestCopy_ofAnEarlierProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		before := w.client(lock.WithID("worker"))
		a := before.NewLock("orders", "a")
		must[lock.Grant](t)(a.Lock(ctx))
		must[int](t)(a.Unlock(ctx))
		late := w.copyOf("Gives holds back")
		before.Close()
		time.Sleep(time.Millisecond)
		l := w.client(lock.WithID("worker")).NewLock("orders", "a")
		must[lock.Grant](t)(l.TryLock(ctx))
		w.again(late)
		if n := must[int](t)(l.HoldCount(ctx)); n != 1 {
			t.Errorf("the server counts %d holds, want 1", n)
		}
	})
}

func TestSerial_behindThatOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		w.redis().Set(ctx, "holdfast_lock_note:{orders}:client-1:a", "9000000000000000", time.Minute)
		must[lock.Grant](t)(l.TryLock(ctx))
		if n := must[int](t)(l.Unlock(ctx)); n != 0 || must[bool](t)(l.IsLocked(ctx)) {
			t.Errorf("%d holds remain, or the lock is locked", n)
		}
	})
}

// A release that the network delays does not lengthen the lease of the outer hold: its
// owner counts from the grant.
func TestUnlock_neverLengthens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Second)))
		}
		w.setLatency(900 * time.Millisecond)
		start := time.Now()
		must[int](t)(l.Unlock(ctx))
		took := time.Since(start)
		w.setLatency(time.Millisecond)
		if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl > 10*time.Second-took {
			t.Errorf("the outer hold lasts %v more, %v after it was taken for 10s", ttl, took)
		}
	})
}

// The view that a renewed hold has of its lease never runs ahead of the server.
func TestUnlock_ofAnInnerHoldIsNoRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries)).NewLock("orders", "a")
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx))
		}
		lost := l.Lost()
		time.Sleep(9 * time.Second)
		must[int](t)(l.Unlock(ctx))
		w.hung.Store(true) // no renewal arrives
		for w.server.Exists("orders") {
			time.Sleep(10 * time.Millisecond)
		}
		if !closed(lost) {
			t.Error("the lease has ended on the server, and its holder was not told")
		}
	})
}

// A copy of an acquire may arrive when the server has forgotten that it was taken back.
// It keeps the lock from the others for one lease, and no longer.
func TestLock_lateAcquireOrphansTheLockForALease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rdb := w.redis(noRetries)
		l := w.clientOn(rdb).NewLock("orders", "a")
		w.loadScripts()
		w.loseAnswers("holdfast_lock_note:{orders}:client-1:a client-1")
		_, err := l.TryLock(t.Context(), lock.Lease(3*time.Second))
		wantErr(t, "lost answers", err, lock.ErrUnknown)
		w.drop.Store(nil)
		late := w.copyOf("Takes one hold")
		time.Sleep(time.Minute)
		if w.server.Exists("orders") {
			t.Fatal("it was not taken back")
		}
		if err := rdb.Do(t.Context(), late...).Err(); err != nil {
			t.Fatal(err)
		}
		if !w.server.Exists("orders") {
			t.Fatal("the late acquire was refused: the package documentation says otherwise")
		}
		time.Sleep(3 * time.Second)
		if w.server.Exists("orders") {
			t.Error("it is still there after its lease")
		}
	})
}
