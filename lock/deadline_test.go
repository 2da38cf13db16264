package lock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// hasty is a connection whose reads time out a moment before their deadline. The timer of
// a real connection may also fire before that of the context.
type hasty struct{ net.Conn }

func (h hasty) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		t = t.Add(-900 * time.Microsecond)
	}
	return h.Conn.SetReadDeadline(t)
}

// A caller asks whether its deadline has passed. The timers of the connection and of the
// context must not decide at random which error the caller gets.
func TestDeadline_isTheContextsErrorThoughTheConnectionTimesOutFirst(t *testing.T) {
	open := func(w *world) *redis.Client {
		return w.redis(noRetries, func(o *redis.Options) {
			o.ContextTimeoutEnabled = true
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := w.dial(ctx, network, addr)
				return hasty{conn}, err
			}
		})
	}
	for name, do := range map[string]func(context.Context, *lock.Client) error{
		"Acquire": func(ctx context.Context, c *lock.Client) error { _, err := c.Acquire(ctx, "orders"); return err },
		"a try": func(ctx context.Context, c *lock.Client) error {
			_, err := c.Acquire(ctx, "orders", lock.Wait(0))
			return err
		},
		"FairLock.Acquire": func(ctx context.Context, c *lock.Client) error {
			_, err := c.NewFairLock("orders").Acquire(ctx)
			return err
		},
		"a try of a FairLock": func(ctx context.Context, c *lock.Client) error {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Wait(0))
			return err
		},
		"Lock": func(ctx context.Context, c *lock.Client) error {
			_, err := c.NewLock("orders", "a").Lock(ctx)
			return err
		},
		"TTL": func(ctx context.Context, c *lock.Client) error {
			_, err := c.NewLock("orders", "a").TTL(ctx)
			return err
		},
	} {
		last := 2500 * time.Millisecond // within the last try
		if name == "TTL" {
			last = 4900 * time.Millisecond
		}
		for i := range 8 {
			connected, known, timeout := i%2 == 1, i%4 < 2, 300*time.Millisecond
			if i >= 4 {
				timeout = last
			}
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					rdb := redis.UniversalClient(open(w))
					if !known {
						rdb = wrapped{rdb}
					}
					c := w.clientOn(rdb)
					if connected {
						rdb.Ping(t.Context())
					}
					w.hung.Store(true)
					defer w.hung.Store(false)
					ctx, cancel := context.WithTimeout(t.Context(), timeout)
					defer cancel()
					err := do(ctx, c)
					if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lock.ErrRefused) {
						t.Errorf("connected %v, known %v, %v: got %v, want the error of the context", connected, known, timeout, err)
					}
					if sent := connected && name != "TTL"; errors.Is(err, lock.ErrUnknown) != sent {
						t.Errorf("connected %v, known %v: got %v; the request was sent: %v", connected, known, err, sent)
					}
				})
			})
		}
	}
	t.Run("Extend and Release", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			c := w.clientOn(open(w))
			h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
			w.hung.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := h.Extend(ctx, time.Minute)
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrUnknown) {
				t.Errorf("Extend: got %v, want the error of the context, and an unknown outcome", err)
			}
			start := time.Now()
			wantErr(t, "Release", h.Release(ctx), lock.ErrUnknown)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("Release took %v, and the unlock timeout is 5s", d)
			}
			w.hung.Store(false)
			if err := h.Release(t.Context()); err != nil {
				t.Errorf("Release on a server that answers: %v", err)
			}
		})
	})
}

// A wait that ends while the server does not answer is over, and the error says which
// of the two it was.
func TestDeadline_aWaitThatEndsFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(noRetries, func(o *redis.Options) { o.ContextTimeoutEnabled = true }))
		w.hung.Store(true)
		defer w.hung.Store(false)
		_, err := c.Acquire(t.Context(), "orders", lock.Wait(300*time.Millisecond))
		wantErr(t, "no connection within the wait", err, lock.ErrRefused)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context of the call has not ended: %v", err)
		}
	})
}
