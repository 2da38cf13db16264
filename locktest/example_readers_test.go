package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// readersAndWriters is a lock for readers and writers under test. It has no Holders, so
// its clients alone are evidence.
var readersAndWriters = locktest.Lock{
	Name: "readers-and-writers", Claims: locktest.Claims{ReadWrite: true, Lease: true}, Busy: errTaken, NotHeld: errGone,
	New: func(c *locktest.Client, name, owner string) lock.Locker {
		l := &readWrite{rdb: c.Redis, name: name, value: owner, ttl: c.Lease}
		return &locktest.Funcs{Acquire: l.Lock, Release: l.Unlock, AcquireShared: l.RLock, ReleaseShared: l.Unlock}
	},
}

// readWrite has its holds in a sorted set, as a semaphore has. The member of a writer
// begins with "w:".
type readWrite struct {
	rdb         redis.UniversalClient
	name, value string
	ttl         time.Duration
	member      string
}

var share = redis.NewScript(serverTime + `
	redis.call("zremrangebyscore", KEYS[1], "-inf", now)
	for _, m in ipairs(redis.call("zrange", KEYS[1], 0, -1)) do
		if string.sub(m, 1, 2) == "w:" or string.sub(ARGV[1], 1, 2) == "w:" then return 0 end
	end
	redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
	return redis.call("pexpire", KEYS[1], ARGV[2])`)

// Lock takes the lock for a writer, and RLock for a reader. Both return errTaken at once.
func (l *readWrite) Lock(ctx context.Context) error  { return l.take(ctx, "w:") }
func (l *readWrite) RLock(ctx context.Context) error { return l.take(ctx, "r:") }

func (l *readWrite) take(ctx context.Context, mode string) error {
	l.member = mode + l.value
	n, err := share.Run(ctx, l.rdb, []string{l.name}, l.member, l.ttl.Milliseconds()).Int()
	if err == nil && n == 0 {
		return errTaken
	}
	return err
}

// Unlock ends the hold, whatever has become of its caller's context.
func (l *readWrite) Unlock(ctx context.Context) error {
	n, err := leave.Run(context.WithoutCancel(ctx), l.rdb, []string{l.name}, l.member).Int()
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

func ExampleFuncs_readers() {
	_ = func(t *testing.T) { // func TestReadWrite(t *testing.T)
		locktest.Run(t, readersAndWriters)
	}
}
