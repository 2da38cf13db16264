package lock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// outage makes the server of a world unreachable: connections break, and new ones are
// refused.
type outage struct {
	mu    sync.Mutex
	down  bool
	links []*link
}

func (o *outage) redis(w *world) *redis.Client {
	return w.redis(noRetries, func(opts *redis.Options) {
		opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.down {
				return nil, syscall.ECONNREFUSED
			}
			conn, err := w.dial(ctx, network, addr)
			if err == nil {
				o.links = append(o.links, conn.(*link))
			}
			return conn, err
		}
	})
}

func (o *outage) set(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = down
	if !down {
		return
	}
	for _, l := range o.links {
		l.Close()
	}
	o.links = nil
}

// A waiter that has a place need not start again because the server restarts: it goes
// on in the queue, though its place was lost.
func TestFair_aWaiterOutlivesAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var o outage
		ctx := t.Context()
		holder := must[*lock.Hold](t)(w.clientOn(o.redis(w)).NewFairLock("orders").Acquire(ctx, lock.Lease(time.Minute)))
		got := make(chan error, 1)
		go func() {
			h, err := w.clientOn(o.redis(w)).NewFairLock("orders").Acquire(ctx)
			if err == nil {
				err = h.Release(ctx)
			}
			got <- err
		}()
		time.Sleep(2 * time.Second)
		o.set(true)
		time.Sleep(20 * time.Second) // the place lasts for three
		select {
		case err := <-got:
			t.Fatalf("the outage ended the wait: %v", err)
		default:
		}
		o.set(false)
		time.Sleep(3 * time.Second)
		if err := holder.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("the waiter got %v, want the lock", err)
		}
	})
}

// A wait that ends during an outage must not say that somebody else has the lock: the
// waiter may have been handed it.
func TestFair_aWaitEndsDuringAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var o outage
		must[*lock.Hold](t)(w.clientOn(o.redis(w)).NewFairLock("orders").Acquire(t.Context(), lock.Lease(time.Minute)))
		fair := w.clientOn(o.redis(w)).NewFairLock("orders")
		waited, ended := make(chan error, 1), make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		go func() { _, err := fair.Acquire(t.Context(), lock.Wait(6*time.Second)); waited <- err }()
		go func() { _, err := fair.Acquire(ctx); ended <- err }()
		time.Sleep(2 * time.Second)
		o.set(true)
		err := <-waited
		wantErr(t, "the wait is over", err, lock.ErrUnknown)
		if errors.Is(err, lock.ErrBusy) {
			t.Errorf("got %v, and the outcome is unknown", err)
		}
		err = <-ended
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("got %v, want the error of the context, and an unknown outcome", err)
		}
		_, err = fair.Acquire(t.Context())
		wantErr(t, "an acquire without a place", err, lock.ErrRefused)
	})
}
