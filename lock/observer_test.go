package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type requestKey struct{}

// The observer gets every outcome with the context of the caller.
func TestObserver_outcomes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var acquires []lock.AcquireResult
		var releases []lock.ReleaseResult
		lost := 0
		ctx := context.WithValue(t.Context(), requestKey{}, "r1")
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second), lock.WithObserver(lock.Observer{
			AcquireDone: func(ctx context.Context, r lock.AcquireResult) {
				if ctx.Value(requestKey{}) != "r1" {
					t.Error("an acquire without the context of its caller")
				}
				acquires = append(acquires, r)
			},
			ReleaseDone: func(ctx context.Context, r lock.ReleaseResult) {
				if ctx.Value(requestKey{}) != "r1" {
					t.Error("a release without the context of its caller")
				}
				releases = append(releases, r)
			},
			Lost: func(string, string, time.Duration) { lost++ },
		}))

		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		_, err := c.Acquire(ctx, "orders", lock.Wait(3*time.Second))
		wantErr(t, "a second call", err, lock.ErrBusy)
		time.Sleep(time.Second)
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		must[*lock.Hold](t)(c.Acquire(ctx, "stock", lock.Lease(time.Second)))
		time.Sleep(2 * time.Second)
		w.hung.Store(true)
		_, err = c.Acquire(ctx, "orders", lock.Wait(0))
		wantErr(t, "a hung server", err, lock.ErrUnknown)

		synctest.Wait() // the observer has heard of the loss
		if len(acquires) != 4 || len(releases) != 1 || lost != 1 {
			t.Fatalf("told of %d acquires, %d releases, %d losses", len(acquires), len(releases), lost)
		}
		wantErr(t, "the result of a busy acquire", acquires[1].Err, lock.ErrBusy)
		if d := acquires[1].Took; d < 3*time.Second || d > 4*time.Second {
			t.Errorf("a wait of 3s took %v", d)
		}
		wantErr(t, "the result without an answer", acquires[3].Err, lock.ErrUnknown)
		if r := releases[0]; r.Held < 4*time.Second || r.Held > 5*time.Second || r.Left != 0 || r.Err != nil {
			t.Errorf("a release after 4s: %+v", r)
		}
	})
}

// The observer hears why renewals fail, and then of the loss.
func TestObserver_renewals(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var heard []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, what)
		}
		c := w.clientOn(w.redis(noRetries, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond }), lock.WithWatchdogTimeout(3*time.Second),
			lock.WithObserver(lock.Observer{
				RenewDone: func(_, _ string, err error) { note(fmt.Sprint("renewal: ", err)) },
				Lost:      func(string, string, time.Duration) { note("lost") },
			}))
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		w.hung.Store(true)
		<-h.Lost()
		synctest.Wait()
		w.hung.Store(false)
		mu.Lock()
		all := strings.Join(heard, ", ")
		mu.Unlock()
		if !strings.HasPrefix(all, "renewal: renew lock: ") || !strings.HasSuffix(all, "lost") {
			t.Errorf("the observer heard %q", all)
		}
	})
}

// The observer gets the time of the hold also from a release that its owner repeats.
func TestObserver_aRepeatedRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var releases []lock.ReleaseResult
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second), lock.WithObserver(lock.Observer{
			ReleaseDone: func(_ context.Context, r lock.ReleaseResult) { releases = append(releases, r) },
		})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context()))
		time.Sleep(4 * time.Second)
		w.hung.Store(true)
		_, err := l.Unlock(t.Context())
		wantErr(t, "a release without an answer", err, lock.ErrUnknown)
		w.hung.Store(false)
		must[int](t)(l.Unlock(t.Context()))
		for _, r := range releases {
			if r.Held < 4*time.Second || r.Held > 6*time.Second {
				t.Errorf("a hold of about 5s: %+v", r)
			}
		}
	})
}
