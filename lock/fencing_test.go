package lock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A leader holds its lock for longer than an idle counter is kept. The next holder must
// not get a token that the leader's writes could pass for.
func TestFencing_growsAfterALongHold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client(lock.WithFencing(), lock.WithWatchdogTimeout(24*time.Hour))
		a := c.NewLock("orders", "a")
		first := must[lock.Grant](t)(a.Lock(ctx))
		time.Sleep(8 * 24 * time.Hour)
		must[int](t)(a.Unlock(ctx))
		if next := must[lock.Grant](t)(c.NewLock("orders", "b").Lock(ctx)); next.Token <= first.Token {
			t.Errorf("token %d after %d", next.Token, first.Token)
		}
	})
}

// A failover can take the counter back. The clock of the server keeps the
// tokens growing.
func TestFencing_growsAfterARollback(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithFencing()).NewLock("orders", "a")
		last := uint64(0)
		for range 3 {
			g := must[lock.Grant](t)(l.Lock(ctx))
			if g.Token <= last {
				t.Errorf("token %d after %d", g.Token, last)
			}
			last = g.Token
			must[int](t)(l.Unlock(ctx))
			w.server.FlushAll()
		}
		// A clock that is set back: the counter still grows.
		now := time.Now()
		for i := range 3 {
			w.server.SetTime(now.Add(-time.Duration(i) * time.Hour))
			g := must[lock.Grant](t)(l.Lock(ctx))
			if i > 0 && g.Token != last+1 {
				t.Errorf("token %d after %d", g.Token, last)
			}
			last = g.Token
			must[int](t)(l.Unlock(ctx))
		}
	})
}

// The server keeps the last token for seven days after it was given, and for no longer.
// Names that are used once must not fill it.
func TestFencing_lastTokenIsKeptForAWeek(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.client(lock.WithFencing()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context()))
		must[int](t)(l.Unlock(t.Context()))
		if d := w.server.TTL("holdfast_lock_token:{orders}").Round(time.Minute); d != 7*24*time.Hour {
			t.Errorf("the last token is kept for %v", d)
		}
	})
}

// Redisson's counter never expires, and a Go service that shares it must not
// change that.
func TestFencing_sharedWithRedisson(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.redis().Set(ctx, "redisson_lock_token:{orders}", 41, 0)
		l := w.client(lock.WithRedissonFencing()).NewLock("orders", "a")
		if g := must[lock.Grant](t)(l.Lock(ctx)); g.Token != 42 {
			t.Errorf("token %d, want the next one of Redisson's counter, 42", g.Token)
		}
		if d := w.redis().TTL(ctx, "redisson_lock_token:{orders}").Val(); d != -1 {
			t.Errorf("Redisson's counter expires in %v", d)
		}
	})
}
