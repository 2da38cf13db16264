package redislock

// Findings in redislock, without the harness: each test is as short a way as there is to
// see one. One that fails shows that the library has changed.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/must"
)

const ttl = 200 * time.Millisecond

// go-redis sends the request again when the reply is lost. The script recognizes its own
// token and grants the lock. Other locks take the token for another owner's.
func TestLostReplyIsGranted(t *testing.T) {
	w := connect(t)
	w.lose(func() {})
	if _, err := w.locks.Obtain(context.Background(), "stock", ttl, nil); err != nil {
		t.Error(err)
	}
}

// When the caller has gone by then, the key stays: redislock takes nothing back.
func TestCancelledObtainLeavesItsKey(t *testing.T) {
	w := connect(t)
	ctx, cancel := context.WithCancel(context.Background())
	w.lose(cancel)
	if _, err := w.locks.Obtain(ctx, "stock", ttl, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !w.server.Exists("stock") {
		t.Error("the key is gone")
	}
}

// The second of two equal releases returns that the lock was not held.
func TestLostReplyOfARelease(t *testing.T) {
	w := connect(t)
	l, err := w.locks.Obtain(context.Background(), "stock", ttl, nil)
	must.Succeed(t, err)
	w.lose(func() {})
	if err := l.Release(context.Background()); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("got %v", err)
	}
}

// A wait that is over does not return ErrNotObtained, but the error of the context; where
// that has no deadline, the TTL is one.
func TestWaitIsOver(t *testing.T) {
	w := connect(t)
	if _, err := w.locks.Obtain(context.Background(), "stock", time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)}
	began := time.Now()
	_, err := w.locks.Obtain(context.Background(), "stock", ttl, retry)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redislock.ErrNotObtained) || time.Since(began) < ttl {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}

// world is a server, and redislock on a connection whose replies can be lost.
type world struct {
	server *miniredis.Miniredis
	locks  *redislock.Client
	cut    atomic.Pointer[func()] // called when the next reply is there, which is then lost
}

// lose loses the next reply, after a call of then.
func (w *world) lose(then func()) { w.cut.Store(&then) }

// connect starts a server that has the scripts.
func connect(t *testing.T) *world {
	t.Parallel()
	w := &world{server: miniredis.RunT(t)}
	rdb := redis.NewClient(&redis.Options{
		Addr: w.server.Addr(), PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return conn{c, w}, err
		},
	})
	t.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	w.locks = redislock.New(rdb)
	l, err := w.locks.Obtain(context.Background(), "another", ttl, nil)
	must.Succeed(t, err)
	must.Succeed(t, l.Release(context.Background()))
	return w
}

type conn struct {
	net.Conn
	w *world
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if then := c.w.cut.Swap(nil); then != nil {
		(*then)()
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
