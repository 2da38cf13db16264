package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A closed client refuses every call, with nothing beside the error that a caller could
// take for an answer.
func TestClosed(t *testing.T) {
	for name, end := range map[string]func(*lock.Client) error{
		"Close":    (*lock.Client).Close,
		"Shutdown": func(c *lock.Client) error { return c.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				c := w.client()
				l := c.NewLock("orders", "a")
				must[lock.Grant](t)(l.Lock(ctx))
				if err := end(c); err != nil {
					t.Fatal(err)
				}
				sent := len(w.arrived())
				called := func(what string, zero bool, err error) {
					t.Helper()
					wantErr(t, what, err, lock.ErrClosed)
					if !zero {
						t.Errorf("%s returns more than an error", what)
					}
				}
				h, err := c.Acquire(ctx, "orders")
				called("Acquire", h == nil, err)
				h, err = c.NewFairLock("orders").Acquire(ctx, lock.Wait(0))
				called("Acquire of a fair lock", h == nil, err)
				g, err := l.Lock(ctx)
				called("Lock", g == lock.Grant{}, err)
				n, err := l.Unlock(ctx)
				called("Unlock", n == 0, err)
				called("Extend", true, l.Extend(ctx, time.Minute))
				n, err = l.HoldCount(ctx)
				called("HoldCount", n == 0, err)
				locked, err := l.IsLocked(ctx)
				called("IsLocked", !locked, err)
				d, err := l.TTL(ctx)
				called("TTL", d == 0, err)
				freed, err := l.ForceUnlock(ctx)
				called("ForceUnlock", !freed, err)
				if n := len(w.arrived()); n != sent {
					t.Errorf("%d requests after the end", n-sent)
				}
			})
		})
	}
}
