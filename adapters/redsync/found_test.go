package redsync

// Findings in redsync, without the harness: each test is as short a way as there is to
// see one. One that fails shows that the library has changed.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/must"
)

// An unlock sends nothing when its context has ended: the key stays for the
// whole expiry.
func TestUnlockHeedsCancel(t *testing.T) {
	w := connect(t)
	m := w.rs.NewMutex("stock")
	must.Succeed(t, m.Lock())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if ok, err := m.UnlockContext(ctx); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", ok, err)
	}
	if !w.server.Exists("stock") {
		t.Error("the key is gone")
	}
}

// So does the cleanup of an acquire that failed: the server has set the key,
// the reply is lost, and the caller has gone.
func TestCleanupHeedsCancel(t *testing.T) {
	w := connect(t)
	w.warm(t)
	ctx, cancel := context.WithCancel(context.Background())
	w.cut.Store(&cancel)
	if err := w.rs.NewMutex("stock").LockContext(ctx); !errors.Is(err, redsync.ErrFailed) {
		t.Errorf("got %v, want %v", err, redsync.ErrFailed)
	}
	if ttl := w.server.TTL("stock"); ttl <= 0 {
		t.Errorf("TTL is %v, want a key that nobody knows of", ttl)
	}
}

// go-redis sends a SET NX again when its reply is lost, and the second finds
// the key of the first. redsync says that the lock is taken, which it is by
// itself; as it then releases its own value, the next try succeeds.
func TestOwnKeyTakenForAnothers(t *testing.T) {
	w := connect(t)
	w.warm(t)
	nothing := context.CancelFunc(func() {})
	w.cut.Store(&nothing)
	m := w.rs.NewMutex("stock")
	var taken *redsync.ErrTaken
	if err := m.TryLock(); !errors.As(err, &taken) {
		t.Errorf("got %v, want ErrTaken", err)
	}
	if w.server.Exists("stock") {
		t.Error("the key is still there")
	}
	if err := m.TryLock(); err != nil {
		t.Errorf("the second try: %v", err)
	}
}

// An expired lock is "already expired", or "already taken" when somebody else
// has it by then.
func TestUnlockOfAnExpiredLock(t *testing.T) {
	w := connect(t)
	m, other := w.rs.NewMutex("stock"), w.rs.NewMutex("stock")
	must.Succeed(t, m.Lock())
	w.server.FastForward(10 * time.Second)
	if _, err := m.Unlock(); !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		t.Errorf("got %v", err)
	}
	must.Succeed(t, other.Lock())
	var taken *redsync.ErrTaken
	if _, err := m.Unlock(); !errors.As(err, &taken) {
		t.Errorf("got %v", err)
	}
}

// With SetNXOnExtend an extension of a lock that has expired takes it again, and
// says nothing of the other owner that there was in between.
func TestExtendTakesTheLockAgain(t *testing.T) {
	w := connect(t)
	m, other := w.rs.NewMutex("stock", redsync.WithSetNXOnExtend()), w.rs.NewMutex("stock")
	must.Succeed(t, m.Lock())
	w.server.FastForward(10 * time.Second)
	must.Succeed(t, other.Lock())
	if _, err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if ok, err := m.Extend(); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

// A node has 5 % of the expiry to answer, by a deadline that go-redis does not heed by
// default. A node that hangs keeps all callers for its read timeout.
func TestNodeTimeoutIsNotHeeded(t *testing.T) {
	w := connect(t)
	w.warm(t)
	w.hang.Store(true)
	began := time.Now()
	err := w.rs.NewMutex("stock", redsync.WithExpiry(2*time.Second)).TryLock() // 100 ms for a node
	if took := time.Since(began); took < readTimeout || err == nil {
		t.Errorf("took %v, want %v: %v", took, readTimeout, err)
	}
}

const readTimeout = 700 * time.Millisecond

// world is a server, and redsync on a connection whose replies can be lost.
type world struct {
	server *miniredis.Miniredis
	rs     *redsync.Redsync
	cut    atomic.Pointer[context.CancelFunc] // called when the next reply is there, which is then lost
	hang   atomic.Bool
}

func connect(t *testing.T) *world {
	t.Parallel()
	w := &world{server: miniredis.RunT(t)}
	rdb := redis.NewClient(&redis.Options{
		Addr: w.server.Addr(), ReadTimeout: readTimeout, PoolSize: 1,
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
	w.rs = redsync.New(pool.NewPool(rdb))
	return w
}

// warm makes a connection, and has the server know the scripts.
func (w *world) warm(t *testing.T) {
	t.Helper()
	m := w.rs.NewMutex("another")
	must.Succeed(t, m.Lock())
	if _, err := m.Unlock(); err != nil {
		t.Fatal(err)
	}
}

type conn struct {
	net.Conn
	w *world
}

func (c conn) Read(b []byte) (int, error) {
	for c.w.hang.Load() {
		if _, err := c.Conn.Read(b); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(b)
	if cancel := c.w.cut.Swap(nil); cancel != nil {
		(*cancel)()
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
