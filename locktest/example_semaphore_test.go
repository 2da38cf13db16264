package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// threePermits is a semaphore under test.
var threePermits = locktest.Lock{
	Name: "three-permits", Claims: locktest.Claims{Permits: 3, Lease: true}, Busy: errTaken, NotHeld: errGone, StoresOwner: true,
	Holders: func(v locktest.View) (holds []locktest.Hold) {
		for _, owner := range v.Items(v.Name) {
			holds = append(holds, locktest.Hold{Owner: owner, End: time.UnixMilli(int64(v.Score(v.Name, owner)))})
		}
		return holds
	},
	New: func(c *locktest.Client, name, owner string) lock.Locker {
		s := &semaphore{rdb: c.Redis, name: name, value: owner, ttl: c.Lease, permits: 3}
		return &locktest.Funcs{Acquire: s.Enter, Release: s.Leave}
	},
}

// semaphore has its holds in a sorted set. A score is the end of a lease in milliseconds
// by the server's clock.
type semaphore struct {
	rdb         redis.UniversalClient
	name, value string
	ttl         time.Duration
	permits     int
}

const serverTime = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `

var (
	enter = redis.NewScript(serverTime + `
		redis.call("zremrangebyscore", KEYS[1], "-inf", now)
		if redis.call("zcard", KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
		redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
		return redis.call("pexpire", KEYS[1], ARGV[2])`)
	leave = redis.NewScript(serverTime + `
		local ends = redis.call("zscore", KEYS[1], ARGV[1])
		redis.call("zrem", KEYS[1], ARGV[1])
		return ends and tonumber(ends) > now and 1 or 0`)
)

// Enter takes a permit, or returns errTaken at once.
func (s *semaphore) Enter(ctx context.Context) error {
	n, err := enter.Run(ctx, s.rdb, []string{s.name}, s.value, s.ttl.Milliseconds(), s.permits).Int()
	if err == nil && n == 0 {
		return errTaken
	}
	return err
}

// Leave gives the permit back, whatever has become of its caller's context.
func (s *semaphore) Leave(ctx context.Context) error {
	n, err := leave.Run(context.WithoutCancel(ctx), s.rdb, []string{s.name}, s.value).Int()
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

func ExampleClaims_semaphore() {
	_ = func(t *testing.T) { // func TestSemaphore(t *testing.T)
		locktest.Run(t, threePermits)
	}
}
