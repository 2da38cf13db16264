// Package stored is one lock in several places: in a packed string, a set, a sorted set, a
// pair of keys, a hash or a sorted set of all locks, or a list of the latest holds.
package stored

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody has the lock")
	ErrNotHeld = errors.New("this owner does not have the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
)

// Poll is the time between two looks of a waiter.
const Poll = 80 * time.Millisecond

// request is the time limit of a request. An acquire may end with two requests.
const request = 400 * time.Millisecond

// Keys that all locks share.
const (
	Registry = "registry"      // hash: the name of a lock -> its hold
	Agenda   = "agenda"        // sorted set: the name of a lock, by the end of its lease
	Owners   = "agenda:owners" // hash: the name of a lock -> its owner
)

// A Place says in Lua where a lock has its hold. read returns the value and the end of the
// hold in milliseconds by the server's clock, or nothing. write and erase change it.
// KEYS are the name of the lock, and its name with ":alive".
type Place string

const unpack = ` local value, ends = string.match(text or "", "^(.*) (%d+)$") return value, tonumber(ends) end `

// The places.
const (
	// Packed is "value end" in a string.
	Packed Place = `
		local function read() local text = redis.call("get", KEYS[1])` + unpack + `
		local function write(value, ends) redis.call("set", KEYS[1], value .. " " .. ends, "px", 2 * ARGV[2]) end
		local function erase() redis.call("del", KEYS[1]) end `
	// Single is a set with one member.
	Single Place = `
		local function read()
			local value, left = redis.call("smembers", KEYS[1])[1], redis.call("pttl", KEYS[1])
			return value, value and now + left + 1 -- it is there for less than a millisecond more
		end
		local function erase() redis.call("del", KEYS[1]) end
		local function write(value) erase() redis.call("sadd", KEYS[1], value) redis.call("pexpire", KEYS[1], ARGV[2]) end `
	// Scored is a sorted set with one member, by the end of its lease.
	Scored Place = `
		local function read()
			local hold = redis.call("zrange", KEYS[1], 0, 0, "withscores")
			return hold[1], tonumber(hold[2])
		end
		local function erase() redis.call("del", KEYS[1]) end
		local function write(value, ends)
			erase()
			redis.call("zadd", KEYS[1], ends, value)
			redis.call("pexpire", KEYS[1], 2 * ARGV[2])
		end `
	// Pair is the value in one key, and the life of the lease in another.
	Pair Place = `
		local function read()
			return redis.call("get", KEYS[1]), now + math.max(redis.call("pttl", KEYS[2]) + 1, 0)
		end
		local function write(value)
			redis.call("set", KEYS[1], value, "px", 2 * ARGV[2])
			redis.call("set", KEYS[2], 1, "px", ARGV[2])
		end
		local function erase() redis.call("del", KEYS[1], KEYS[2]) end `
	// Listed is a field of [Registry].
	Listed Place = `
		local function read() local text = redis.call("hget", "` + Registry + `", KEYS[1])` + unpack + `
		local function write(value, ends) redis.call("hset", "` + Registry + `", KEYS[1], value .. " " .. ends) end
		local function erase() redis.call("hdel", "` + Registry + `", KEYS[1]) end `
	// Scheduled is in [Agenda] and [Owners].
	Scheduled Place = `
		local function read()
			return redis.call("hget", "` + Owners + `", KEYS[1]), tonumber(redis.call("zscore", "` + Agenda + `", KEYS[1]) or 0)
		end
		local function write(value, ends)
			redis.call("zadd", "` + Agenda + `", ends, KEYS[1])
			redis.call("hset", "` + Owners + `", KEYS[1], value)
		end
		local function erase() redis.call("zrem", "` + Agenda + `", KEYS[1]) redis.call("hdel", "` + Owners + `", KEYS[1]) end `
	// Journal is a list of the latest holds, the newest first. A free lock has "free 0" there.
	Journal Place = `
		local function read() local text = redis.call("lindex", KEYS[1], 0)` + unpack + `
		local function write(value, ends)
			redis.call("lpush", KEYS[1], value .. " " .. ends)
			redis.call("ltrim", KEYS[1], 0, 4)
			redis.call("pexpire", KEYS[1], 2 * ARGV[2])
		end
		local function erase() write("free", 0) end `
)

const (
	now  = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `
	take = `
		local value, ends = read()
		if value and ends > now then return 0 end
		write(ARGV[1], now + ARGV[2])
		return 1`
	takeUntilReleased = `
		if read() then return 0 end
		write(ARGV[1], now + ARGV[2])
		return 1`
	leave = `
		local value, ends = read()
		if value ~= ARGV[1] then return 0 end
		erase()
		return ends > now and 1 or 0`
	leaveUnchecked = `erase() return 1`
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Owner   string
	Lease   time.Duration
	Place   Place
	Mistake string // a defect for tests; a right lock has none

	attempts int
	value    string // of the last attempt: a late request of an older one finds nothing
	until    time.Time
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	m.attempts++
	m.value = fmt.Sprintf("%s#%d", m.Owner, m.attempts)
	script := take
	if m.Mistake == "never-ends" {
		script = takeUntilReleased
	}
	for {
		sent := time.Now()
		granted, err := m.run(ctx, script)
		if m.Mistake == "until-from-answer" {
			sent = time.Now()
		}
		switch {
		case err != nil:
			_, _ = m.run(ctx, leave) // else the lease ends it
			return fmt.Errorf("lock %s: %w: %w", m.Name, ErrUnclear, err)
		case granted && time.Since(sent) >= m.Lease:
			_, _ = m.run(ctx, leave)
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
	if m.Mistake == "unchecked" {
		script = leaveUnchecked
	}
	had, err := m.run(ctx, script)
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %w", m.Name, ErrUnclear, err)
	case !had:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

// run asks the server once. The end of ctx shortens the request, and does not stop it.
func (m *Mutex) run(ctx context.Context, script string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), request)
	defer cancel()
	keys := []string{m.Name, m.Name + ":alive"}
	n, err := redis.NewScript(now+string(m.Place)+script).Run(ctx, m.Redis, keys, m.value, m.Lease.Milliseconds()).Int()
	return n == 1, err
}
