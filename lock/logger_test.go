package lock_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type requestKey struct{}

// The observer gets every outcome with the context of the caller, and a logger beside it
// takes nothing from it.
func TestObserver_outcomes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var acquires []lock.AcquireResult
		var releases []lock.ReleaseResult
		var out bytes.Buffer
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
		}), lock.WithLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))

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
		_, err = c.TryAcquire(ctx, "orders")
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
		for _, line := range []string{
			`level=DEBUG msg="lock acquire succeeded" lock=orders`, `level=DEBUG msg="lock acquire failed" lock=orders`,
			`level=DEBUG msg="lock release succeeded" lock=orders`, `level=WARN msg="lock lost" lock=stock`,
			`level=WARN msg="lock acquire has an unknown outcome" lock=orders`,
		} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("no line %q in\n%s", line, &out)
			}
		}
	})
}

func TestLogger_renewals(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var out bytes.Buffer
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second), lock.WithWatchdogTimeout(3*time.Second),
			lock.WithLogger(slog.New(slog.NewTextHandler(&out, nil))))
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		w.hung.Store(true)
		wait := h.Context()
		time.Sleep(1800 * time.Millisecond)
		wantErr(t, "release on a hung server", h.Release(t.Context()), lock.ErrUnknown)
		<-wait.Done()
		for _, line := range []string{`level=WARN msg="lock renewal failed" lock=orders`, `level=WARN msg="lock release has an unknown outcome" lock=orders`} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("no line %q in\n%s", line, &out)
			}
		}
	})
}

// An observer beside a logger hears all that it would hear without one.
func TestLogger_passesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var heard []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, what)
		}
		c := w.clientOn(w.redis(noRetries, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond }), lock.WithWatchdogTimeout(3*time.Second),
			lock.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), lock.WithObserver(lock.Observer{
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

// Each event has a line of its own, and a failure is not logged as a success.
func TestLogger_tellsFailuresFromSuccesses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var out bytes.Buffer
		c := w.client(lock.WithLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		logged := func(want string) {
			t.Helper()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("logged %q, want one line with %s", lines, want)
			}
			out.Reset()
		}
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		logged(`level=DEBUG msg="lock acquire succeeded" lock=orders`)
		_, err := c.TryAcquire(ctx, "orders")
		wantErr(t, "busy", err, lock.ErrBusy)
		logged(`level=DEBUG msg="lock acquire failed" lock=orders`)
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
		logged(`level=DEBUG msg="lock release succeeded" lock=orders`)
		_, err = c.NewLock("orders", "a").Unlock(ctx)
		wantErr(t, "not held", err, lock.ErrNotHeld)
		logged(`level=DEBUG msg="lock release failed" lock=orders owner=a`)
	})
}
