// Package semaphore is a counting semaphore of one: a sorted set has the holder,
// with the end of its lease on the server's clock as its score.
package semaphore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrNotHeld = errors.New("this owner does not have the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
)

// Poll is the time between two looks of a waiter.
const Poll = 50 * time.Millisecond

const (
	clock   = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `
	clean   = `redis.call("zremrangebyscore", KEYS[1], "-inf", now) `
	add     = `redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1]) `
	expires = `redis.call("pexpire", KEYS[1], ARGV[2]) `
)

var (
	acquire = map[string]*redis.Script{
		"":            redis.NewScript(clock + clean + `if redis.call("zcard", KEYS[1]) >= 1 then return 0 end ` + add + expires + `return 1`),
		"limit-two":   redis.NewScript(clock + clean + `if redis.call("zcard", KEYS[1]) > 1 then return 0 end ` + add + expires + `return 1`),
		"add-first":   redis.NewScript(clock + clean + add + expires + `return redis.call("zrank", KEYS[1], ARGV[1]) == 0 and 1 or 0`),
		"not-cleaned": redis.NewScript(clock + `if redis.call("zcard", KEYS[1]) >= 1 then return 0 end ` + add + `return 1`),
	}
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value string
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	script := acquire[m.Mistake]
	if script == nil {
		script = acquire[""]
	}
	for {
		m.value = fmt.Sprintf("%016x", m.Rand.Uint64())
		sent := time.Now()
		n, err := script.Run(ctx, m.Redis, []string{m.Name}, m.value, m.Lease.Milliseconds()).Int64()
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case n == 1 && time.Since(sent) >= m.Lease:
			// The request may have come late, and still keep others out.
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case n == 1:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	n, err := m.release(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

func (m *Mutex) release(ctx context.Context) (int64, error) {
	if m.Mistake == "pops" {
		got, err := m.Redis.ZPopMin(ctx, m.Name).Result()
		return int64(len(got)), err
	}
	return m.Redis.ZRem(ctx, m.Name, m.value).Result()
}
