package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A plain name and the same name in braces are two locks. No holder or waiter of one
// touches the other.
func TestNames_braces(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client(lock.WithFencing())
		for _, names := range [][2]string{{"orders", "{orders}"}, {"{orders}", "orders"}} {
			for range 2 { // an owner's number is used again
				one := must[*lock.Hold](t)(c.Acquire(ctx, names[0], lock.Wait(0)))
				two := must[*lock.Hold](t)(c.Acquire(ctx, names[1], lock.Wait(0)))
				for _, h := range []*lock.Hold{one, two} {
					if err := h.Release(ctx); err != nil {
						t.Errorf("%q and %q: %v", names[0], names[1], err)
					}
				}
			}
			held := must[*lock.Hold](t)(c.NewFairLock(names[1]).Acquire(ctx))
			first := must[*lock.Hold](t)(c.NewFairLock(names[0]).Acquire(ctx))
			got := make(chan *lock.Hold, 1)
			go func() { h, _ := c.NewFairLock(names[1]).Acquire(ctx, lock.Wait(time.Minute)); got <- h }()
			time.Sleep(time.Second)
			w.gives(first)
			time.Sleep(time.Second)
			if len(got) > 0 {
				t.Fatalf("the release of %q has handed %q on, which somebody holds", names[0], names[1])
			}
			w.gives(held)
			w.gives(<-got)
		}
		for _, key := range w.server.Keys() { // each key belongs to one of the two
			if !strings.Contains(key, "{orders}") {
				t.Errorf("the key %q is in another slot than its lock", key)
			}
		}
	})
}

// Two clients whose ids differ have no owner in common: in the field of an owner, a colon
// ends the id. So an id has none, and the first call of "app" is not the owner "1" of
// "app:".
func TestNames_idsWithAColon(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if long, err := lock.New(w.redis(), lock.WithID("app:")); err == nil {
			defer long.Close()
			must[*lock.Hold](t)(w.client(lock.WithID("app")).Acquire(ctx, "orders", lock.Wait(0)))
			_, err = long.NewLock("orders", "1").TryLock(ctx)
			wantErr(t, "lock of the other client", err, lock.ErrBusy)
		}
	})
}

// A fair lock and a plain one of the same name count one row of tokens, also that of
// Redisson.
func TestFencing_oneRowOfTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for name, opt := range map[string]lock.Option{"own": lock.WithFencing(), "redisson": lock.WithRedissonFencing()} {
			c := w.client(opt, lock.WithID(name))
			var last uint64
			for i := range 6 {
				h, err := c.Acquire(ctx, name)
				if i%2 == 0 {
					w.gives(h)
					h, err = c.NewFairLock(name).Acquire(ctx)
				}
				if err != nil {
					t.Fatal(err)
				}
				if h.Token() <= last {
					t.Errorf("%s: token %d after %d", name, h.Token(), last)
				}
				last = h.Token()
				w.gives(h)
			}
		}
	})
}
