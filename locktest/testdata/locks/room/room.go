// Package room is a semaphore, or a lock for readers and writers. Its holds are members of
// a sorted set. A score is the end of a lease in milliseconds by the server's clock.
package room

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Room, for errors.Is.
var (
	ErrFull    = errors.New("the lock has no room")
	ErrNotHeld = errors.New("this owner does not have the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
)

// Poll is the time between two looks of a waiter.
const Poll = 90 * time.Millisecond

const now = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `

const clean = `redis.call("zremrangebyscore", KEYS[1], "-inf", now) `

// The name of a member begins with its weight.
const weigh = `local sum = tonumber(ARGV[3])
	for _, m in ipairs(redis.call("zrange", KEYS[1], 0, -1)) do sum = sum + tonumber(string.match(m, "^%d+")) end `

const add = `redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
	if redis.call("pttl", KEYS[1]) < ARGV[2] * 2 then redis.call("pexpire", KEYS[1], ARGV[2] * 2) end
	return 1`

var enters = map[string]*redis.Script{
	"":               redis.NewScript(now + clean + weigh + `if sum > tonumber(ARGV[4]) then return 0 end ` + add),
	"one-more":       redis.NewScript(now + clean + weigh + `if sum > tonumber(ARGV[4]) + 1 then return 0 end ` + add),
	"never-cleaned":  redis.NewScript(now + weigh + `if sum > tonumber(ARGV[4]) then return 0 end redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1]) return 1`),
	"shared-lease":   redis.NewScript(now + weigh + `if sum > tonumber(ARGV[4]) then return 0 end ` + `redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1]) redis.call("pexpire", KEYS[1], ARGV[2]) return 1`),
	"readers-pass":   redis.NewScript(now + clean + weigh + `if ARGV[3] ~= "1" and sum > tonumber(ARGV[4]) then return 0 end ` + add),
	"writers-pass":   redis.NewScript(now + clean + weigh + `if ARGV[3] == "1" and sum > tonumber(ARGV[4]) then return 0 end ` + add),
	"counts-members": redis.NewScript(now + clean + `if redis.call("zcard", KEYS[1]) + ARGV[3] > tonumber(ARGV[4]) then return 0 end ` + add),
}

var (
	count = redis.NewScript(now + clean + weigh + `return sum`)
	put   = redis.NewScript(now + add)
	leave = redis.NewScript(now + `
		local ends = redis.call("zscore", KEYS[1], ARGV[1])
		redis.call("zrem", KEYS[1], ARGV[1])
		if ends and tonumber(ends) > now then return 1 end
		return 0`)
	clear  = redis.NewScript(`return redis.call("del", KEYS[1])`)
	oldest = redis.NewScript(`return #redis.call("zpopmin", KEYS[1]) / 2`)
)

// Room is one owner's view of a lock. Its client must not send a command twice.
type Room struct {
	Redis    *redis.Client
	Name     string
	Owner    string
	Lease    time.Duration
	Capacity int
	Mistake  string // a defect for tests; a right lock has none

	attempts int
	value    string // of the last attempt: a late request of an older one finds nothing
	until    time.Time
}

// Enter takes a hold of a weight, and waits for it until ctx ends. It then returns
// [ErrFull].
func (m *Room) Enter(ctx context.Context, weight int) error {
	m.attempts++
	m.value = fmt.Sprintf("%d:%s#%d", weight, m.Owner, m.attempts)
	for {
		sent := time.Now()
		granted, err := m.ask(ctx, weight)
		switch {
		case err != nil:
			_, _ = m.run(ctx, leave, weight) // else the lease ends it
			return fmt.Errorf("enter %s: %w: %w", m.Name, ErrUnclear, err)
		case granted && time.Since(sent) >= m.Lease:
			_, _ = m.run(ctx, leave, weight)
			return fmt.Errorf("enter %s: %w: the answer came after the lease", m.Name, ErrUnclear)
		case granted:
			m.until = sent.Add(m.Lease)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("enter %s: %w", m.Name, ErrFull)
		case <-time.After(Poll):
		}
	}
}

func (m *Room) ask(ctx context.Context, weight int) (bool, error) {
	if m.Mistake == "check-then-put" {
		if sum, err := m.run(ctx, count, weight); err != nil || sum > m.Capacity {
			return false, err
		}
		n, err := m.run(ctx, put, weight)
		return n == 1, err
	}
	enter := enters[m.Mistake]
	if enter == nil {
		enter = enters[""]
	}
	n, err := m.run(ctx, enter, weight)
	return n == 1, err
}

// Until is the end of the hold.
func (m *Room) Until() time.Time { return m.until }

// Leave gives the hold back, also if ctx has ended.
func (m *Room) Leave(ctx context.Context) error {
	script := leave
	switch m.Mistake {
	case "clears":
		script = clear
	case "gives-back-the-oldest":
		script = oldest
	}
	n, err := m.run(ctx, script, 0)
	switch {
	case err != nil:
		return fmt.Errorf("leave %s: %w: %w", m.Name, ErrUnclear, err)
	case n == 0:
		return fmt.Errorf("leave %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

// run asks a server once. The end of ctx shortens the request, and does not stop it.
func (m *Room) run(ctx context.Context, script *redis.Script, weight int) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second/4)
	defer cancel()
	return script.Run(ctx, m.Redis, []string{m.Name}, m.value, m.Lease.Milliseconds(), weight, m.Capacity).Int()
}
