package reported

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// SafetyPoll is the longest sleep of a waiter for a signal: a cancelled one goes on to its end.
const SafetyPoll = 900 * time.Millisecond

// signalRelease gives a lock back, and wakes one waiter.
var signalRelease = redis.NewScript(`
	if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call("del", KEYS[2])
	redis.call("lpush", KEYS[2], 1)
	redis.call("pexpire", KEYS[2], ARGV[2])
	return redis.call("del", KEYS[1])`)

// Signal is one owner's view of a lock whose waiters stand in BLPOP on a list of
// signals. Its client must not send a command twice.
type Signal struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Poll    time.Duration // the longest sleep of a waiter
	Rand    *rand.Rand
	Mistake string

	value string
}

// SignalKey is the list of signals of a lock.
func SignalKey(name string) string { return name + ":signal" }

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Signal) Lock(ctx context.Context) error {
	m.value = fmt.Sprintf("%016x", m.Rand.Uint64())
	for {
		sent := time.Now()
		one, done := answered(ctx)
		ok, err := m.Redis.SetNX(one, m.Name, m.value, m.Lease).Result()
		done()
		switch {
		case err != nil:
			return failed(ctx, m.Name, err)
		case ok && time.Since(sent) >= m.Lease:
			return late(m.Name)
		case ok:
			return nil
		}
		wait := m.Poll
		if m.Mistake == "python-redis-lock-71" {
			wait = m.Lease
		}
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(end))
		}
		if ctx.Err() != nil || wait <= 0 {
			return over(ctx, m.Name)
		}
		err = m.Redis.Do(ctx, "blpop", SignalKey(m.Name), max(wait, time.Millisecond).Seconds()).Err()
		if err != nil && !errors.Is(err, redis.Nil) && ctx.Err() == nil {
			return failed(ctx, m.Name, err)
		}
	}
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Signal) Unlock(ctx context.Context) error {
	err := giveBack(ctx, m.Name, m.Lease, ErrNotHeld, func(ctx context.Context) (int64, error) {
		return signalRelease.Run(ctx, m.Redis, []string{m.Name, SignalKey(m.Name)}, m.value, m.Lease.Milliseconds()).Int64()
	})
	if m.Mistake == "python-redis-lock-71" {
		one, done := context.WithTimeout(context.WithoutCancel(ctx), request)
		defer done()
		_ = m.Redis.Del(one, SignalKey(m.Name)).Err()
	}
	return err
}
