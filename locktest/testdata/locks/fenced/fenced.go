// Package fenced is a lock whose holds have growing numbers, after Kleppmann's
// "How to do distributed locking": one script takes the lock and draws the number.
package fenced

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
	ErrUnclear = errors.New("the server may have granted the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

// Poll is the time between two looks of a waiter.
const Poll = 100 * time.Millisecond

var (
	acquire = redis.NewScript(`
		if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
			return redis.call("incr", KEYS[2])
		end
		return 0`)
	expiring = redis.NewScript(`
		if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
			local token = redis.call("incr", KEYS[2])
			redis.call("pexpire", KEYS[2], ARGV[2])
			return token
		end
		return 0`)
	release = redis.NewScript(`
		if redis.call("get", KEYS[1]) == ARGV[1] then
			return redis.call("del", KEYS[1])
		end
		return 0`)
	releaseAll = redis.NewScript(`
		if redis.call("get", KEYS[1]) == ARGV[1] then
			return redis.call("del", KEYS[1], KEYS[2])
		end
		return 0`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value string
	token uint64
}

// Counter is the key of the last token of a lock.
func Counter(name string) string { return name + ":token" }

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	m.value = fmt.Sprintf("%016x", m.Rand.Uint64())
	for {
		sent := time.Now()
		token, err := m.try(ctx)
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case token > 0 && time.Since(sent) >= m.Lease && m.Mistake != "token-of-its-own-command":
			// The request may have come late, and still keep others out.
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case token > 0:
			if m.Mistake != "first-token" || m.token == 0 {
				m.token = token
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// try takes the lock if it is free, and returns the token of the hold, or 0.
func (m *Mutex) try(ctx context.Context) (uint64, error) {
	keys, px := []string{m.Name, Counter(m.Name)}, m.Lease.Milliseconds()
	switch m.Mistake {
	case "token-of-its-own-command":
		ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
		if !ok || err != nil {
			return 0, err
		}
		return m.Redis.Incr(ctx, Counter(m.Name)).Uint64()
	case "token-first", "impatient-token-first":
		if m.Mistake == "impatient-token-first" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 600*time.Millisecond)
			defer cancel()
		}
		token, err := m.Redis.Incr(ctx, Counter(m.Name)).Uint64()
		if err != nil {
			return 0, err
		}
		if ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result(); !ok || err != nil {
			return 0, err
		}
		return token, nil
	case "token-from-clock":
		ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
		if !ok || err != nil {
			return 0, err
		}
		return uint64(time.Now().Unix()), nil
	case "token-expires":
		return expiring.Run(ctx, m.Redis, keys, m.value, px).Uint64()
	}
	return acquire.Run(ctx, m.Redis, keys, m.value, px).Uint64()
}

// Token is the number of the last grant.
func (m *Mutex) Token() uint64 {
	if m.Mistake == "zero-token" {
		return 0
	}
	return m.token
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	script := release
	if m.Mistake == "counter-deleted" {
		script = releaseAll
	}
	switch n, err := script.Run(ctx, m.Redis, []string{m.Name, Counter(m.Name)}, m.value).Int(); {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}
