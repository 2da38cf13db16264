package reported

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

var takeOver = redis.NewScript(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("set", KEYS[1], ARGV[2]) return 1`)

// Stamp is one owner's view of a lock whose value is the end of its hold, by the
// clock of the owner. Its client must not send a command twice.
type Stamp struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string

	value string
	until time.Time
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Stamp) Lock(ctx context.Context) error {
	for {
		end := time.Now().Add(m.Lease).Truncate(time.Millisecond)
		m.value = fmt.Sprintf("%d|%016x", end.UnixMilli(), m.Rand.Uint64())
		ok, err := m.once(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case ok && !time.Now().Before(end):
			return late(m.Name)
		case ok:
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
func (m *Stamp) once(ctx context.Context) (bool, error) {
	limit := 3 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)+800*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if ok, err := m.Redis.SetNX(ctx, m.Name, m.value, 0).Result(); err != nil || ok {
		return ok, err
	}
	seen, err := m.Redis.Get(ctx, m.Name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	switch {
	case seen == "" && m.Mistake != "redis-mutex-6", seen != "" && time.Now().Before(stamp(seen)):
		return false, nil
	case m.Mistake == "redis-mutex-6", m.Mistake == "servicestack-215":
		old, err := m.Redis.GetSet(ctx, m.Name, m.value).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, err
		}
		if m.Mistake == "servicestack-215" {
			return old == seen, nil
		}
		return old == "" || !time.Now().Before(stamp(old)), nil
	}
	n, err := takeOver.Run(ctx, m.Redis, []string{m.Name}, seen, m.value).Int()
	return n == 1, err
}

// stamp is the time in a value.
func stamp(value string) time.Time {
	ms, _, _ := strings.Cut(value, "|")
	n, _ := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n)
}

// Until is the end of the hold.
func (m *Stamp) Until() time.Time { return m.until }

// Unlock gives the lock back, also when ctx has ended.
func (m *Stamp) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	over := !time.Now().Before(m.until)
	n, err := release.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %v", m.Name, ErrUnclear, err)
	case n == 0 || over:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}
