package rueidislock

// Findings in rueidislock, without the harness: each test is as short a way as there is
// to see one. One that fails shows that the library has changed.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/internal/must"
)

const (
	validity = 2 * time.Second
	// patience is the time that a request that takes a lock may take. The default of 20
	// ms is too little for a machine that is busy with other tests.
	patience = 500 * time.Millisecond
)

// Waiters are woken by messages about the key. With NoLoopTracking a client gets no
// messages about its own writes. When the reply to its SET is later than 20 ms, it
// deletes the key that it may have set. Then it waits for a message that never comes.
// Without NoLoopTracking the deletion wakes it.
func TestWaiterSleepsOnAFreeLock(t *testing.T) {
	l, w := connect(t)
	take(t, l)() // the server has the scripts now
	w.delay.Store(int64(patience + 200*time.Millisecond))
	time.AfterFunc(patience, func() { w.delay.Store(0) }) // the reply is on its way by then
	ctx, cancel := context.WithTimeout(context.Background(), 2*validity)
	defer cancel()
	if _, _, err := l.WithContext(ctx, "stock"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after one late reply: %v, want a wait until the deadline", err)
	}
	if ttl := left(t, l); ttl != -2 {
		t.Errorf("the key is there for %d ms more, want a free lock", ttl)
	}
}

// A renewal that is not answered ends the hold when the lease that it asked for would
// have ended. That is half a validity after the lease that the server has.
func TestLossIsToldLate(t *testing.T) {
	l, w := connect(t)
	ctx, release := obtain(t, l)
	began := time.Now()
	w.delay.Store(int64(2 * validity))
	<-ctx.Done()
	if told := time.Since(began); told < validity*5/4 {
		t.Errorf("told after %v, want later than a validity of %v", told, validity)
	}
	w.delay.Store(0)
	release()
}

// rueidis sends the script that takes the lock again when the connection
// breaks. The second finds the key that the first has set.
func TestOwnKeyTakenForAnothers(t *testing.T) {
	l, w := connect(t)
	take(t, l)()
	w.cut.Store(true)
	if _, _, err := l.TryWithContext(context.Background(), "stock"); !errors.Is(err, rueidislock.ErrNotLocked) {
		t.Errorf("after a lost reply: %v, want %v", err, rueidislock.ErrNotLocked)
	}
	if ttl := left(t, l); ttl <= 0 {
		t.Errorf("PTTL is %d, want a key that nobody knows of", ttl)
	}
}

func take(t *testing.T, l rueidislock.Locker) (release func()) {
	t.Helper()
	_, release = obtain(t, l)
	return release
}

func obtain(t *testing.T, l rueidislock.Locker) (ctx context.Context, release func()) {
	t.Helper()
	ctx, release, err := l.TryWithContext(context.Background(), "stock")
	must.Succeed(t, err)
	return ctx, release
}

// left is the PTTL of the key.
func left(t *testing.T, l rueidislock.Locker) int64 {
	t.Helper()
	c := l.Client()
	ttl, err := c.Do(context.Background(), c.B().Pttl().Key("rueidislock:0:stock").Build()).AsInt64()
	must.Succeed(t, err)
	return ttl
}

// wire changes the replies of a connection.
type wire struct {
	delay atomic.Int64 // of every reply
	cut   atomic.Bool  // the next reply breaks the connection instead
}

type conn struct {
	net.Conn
	wire *wire
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	time.Sleep(time.Duration(c.wire.delay.Load()))
	if c.wire.cut.CompareAndSwap(true, false) {
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// connect starts a server, and returns a locker for it.
func connect(t *testing.T) (rueidislock.Locker, *wire) {
	t.Parallel()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no redis-server")
	}
	dir := t.TempDir()
	server := exec.Command(path, "--port", "0", "--unixsocket", dir+"/s", "--save", "", "--dir", dir)
	must.Succeed(t, server.Start())
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // it was killed
	})
	w := new(wire)
	o := rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true, KeyValidity: validity, TryNextAfter: patience, ClientOption: rueidis.ClientOption{
		InitAddress: []string{"127.0.0.1:6379"},
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "unix", dir+"/s")
			return conn{c, w}, err
		},
	}}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l, err := rueidislock.NewLocker(o)
		if err == nil {
			t.Cleanup(l.Close)
			return l, w
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
