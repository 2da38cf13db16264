// Package scored is a lock whose hold is a member of a sorted set. Its score is the end
// of the lease in milliseconds by the server's clock. Whoever asks removes the holds that
// are over.
package scored

import (
	"context"
	"errors"
	"fmt"
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
const Poll = 90 * time.Millisecond

const now = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `

var (
	enter = redis.NewScript(now + `
		redis.call("zremrangebyscore", KEYS[1], "-inf", now)
		if redis.call("zcard", KEYS[1]) > 0 and not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
		redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
		redis.call("pexpire", KEYS[1], ARGV[2] * 2)
		return 1`)
	leave = redis.NewScript(now + `
		local ends = redis.call("zscore", KEYS[1], ARGV[1])
		redis.call("zrem", KEYS[1], ARGV[1])
		if ends and tonumber(ends) > now then return 1 end
		return 0`)
	clear = redis.NewScript(`return redis.call("del", KEYS[1])`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Owner   string
	Lease   time.Duration
	Mistake string // a defect for tests; a right lock has none

	attempts int
	value    string // of the last attempt: a late request of an older one finds nothing
	until    time.Time
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	m.attempts++
	m.value = fmt.Sprintf("%s#%d", m.Owner, m.attempts)
	for {
		sent := time.Now()
		granted, err := m.run(ctx, enter)
		if m.Mistake == "until-from-answer" {
			sent = time.Now()
		}
		switch {
		case err != nil:
			m.leaveSoon(ctx)
			return fmt.Errorf("lock %s: %w: %w", m.Name, ErrUnclear, err)
		case granted && time.Since(sent) >= m.Lease:
			m.leaveSoon(ctx)
			return fmt.Errorf("lock %s: %w: the answer came after the lease", m.Name, ErrUnclear)
		case granted:
			m.until = sent.Add(m.Lease)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// Until is the end of the hold.
func (m *Mutex) Until() time.Time { return m.until }

// Unlock gives the lock back, also if ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	script := leave
	if m.Mistake == "clears" {
		script = clear
	}
	held, err := m.run(ctx, script)
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %w", m.Name, ErrUnclear, err)
	case !held:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

// run asks a server once. The end of ctx shortens the request, and does not stop it.
func (m *Mutex) run(ctx context.Context, script *redis.Script) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return script.Run(ctx, m.Redis, []string{m.Name}, m.value, m.Lease.Milliseconds()).Bool()
}

// leaveSoon takes back what the server may have granted. If it fails, the lease ends it.
func (m *Mutex) leaveSoon(ctx context.Context) {
	_, _ = m.run(ctx, leave)
}
