// Package timestamp is the lock of the old SETNX page. The key has no time to live:
// its value is the time at which the hold ends, by the clock of its owner. A waiter
// that finds this time in the past takes the key over.
package timestamp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
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
const Poll = 80 * time.Millisecond

var (
	takeOver = redis.NewScript(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("set", KEYS[1], ARGV[2]) return 1`)
	remove   = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value string
	until time.Time
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	end := time.Now().Add(m.Lease).Truncate(time.Millisecond)
	for {
		if m.Mistake != "end-before-wait" {
			end = time.Now().Add(m.Lease).Truncate(time.Millisecond)
		}
		m.value = fmt.Sprintf("%d|%016x", end.UnixMilli(), m.Rand.Uint64())
		granted, err := m.once(ctx)
		if m.Mistake == "until-from-reply" || m.Mistake == "end-before-wait" {
			end = time.Now().Add(m.Lease)
		}
		switch {
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case granted && !time.Now().Before(end):
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case granted:
			m.until = end
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// once looks once. It goes on for a while after the end of a wait, so it usually knows
// its outcome.
func (m *Mutex) once(ctx context.Context) (granted bool, err error) {
	limit := 3 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)+800*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if granted, err = m.Redis.SetNX(ctx, m.Name, m.value, 0).Result(); err != nil || granted {
		return granted, err
	}
	seen, err := m.Redis.Get(ctx, m.Name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	if seen == "" || time.Now().Before(end(seen)) {
		return false, nil
	}
	switch m.Mistake {
	case "swap-unchecked":
		err = m.Redis.GetSet(ctx, m.Name, m.value).Err()
		return !errors.Is(err, redis.Nil) && err == nil, err
	case "delete-then-set":
		if err := m.Redis.Del(ctx, m.Name).Err(); err != nil {
			return false, err
		}
		return m.Redis.SetNX(ctx, m.Name, m.value, 0).Result()
	}
	n, err := takeOver.Run(ctx, m.Redis, []string{m.Name}, seen, m.value).Int()
	return n == 1, err
}

// end is the time in a value.
func end(value string) time.Time {
	ms, _, _ := strings.Cut(value, "|")
	n, _ := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n)
}

// Until is the end of the hold.
func (m *Mutex) Until() time.Time { return m.until }

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	over := !time.Now().Before(m.until)
	n, err := m.release(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %v", m.Name, ErrUnclear, err)
	case (n == 0 || over) && m.Mistake != "always-released":
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

func (m *Mutex) release(ctx context.Context) (int64, error) {
	switch m.Mistake {
	case "plain-delete":
		return m.Redis.Del(ctx, m.Name).Result()
	case "get-then-delete":
		seen, err := m.Redis.Get(ctx, m.Name).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, err
		}
		if seen != m.value {
			return 0, nil
		}
		return m.Redis.Del(ctx, m.Name).Result()
	case "delete-in-time":
		if !time.Now().Before(end(m.value)) {
			return 0, nil
		}
		return m.Redis.Del(ctx, m.Name).Result()
	}
	return remove.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
}
