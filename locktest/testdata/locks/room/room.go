// Package room is a semaphore, or a lock for readers and writers. Its holds are members of
// a sorted set. A score is the end of a lease in milliseconds by the server's clock.
package room

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Room, for errors.Is.
var (
	ErrFull    = errors.New("the lock has no room")
	ErrNotHeld = errors.New("this owner does not have the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
)

// scoreUnit is the unit of scores. The scripts cut the server's time to it, so a hold may
// end by as much before its lease.
const scoreUnit = time.Millisecond

// Poll is the time between two looks of a waiter.
const Poll = 90 * time.Millisecond

const now = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `

const clean = `redis.call("zremrangebyscore", KEYS[1], "-inf", now) `

// The name of a member begins with its weight. One of its owner that has another weight is
// not in the way of an acquire.
const weigh = `local sum, me, own = tonumber(ARGV[3]), string.match(ARGV[1], ":(.*)#"), nil
	for _, m in ipairs(redis.call("zrange", KEYS[1], 0, -1)) do
		local w, who = string.match(m, "^(%d+):(.*)#")
		if who == me and w ~= ARGV[3] then own = m else sum = sum + tonumber(w) end
	end `

const refuse = `if sum > tonumber(ARGV[4]) then return 0 end `

const put = `redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1]) `

// A writer who waits says so in a sorted set of its own, for a second at a time. No reader
// passes it.
const queued = `redis.call("zremrangebyscore", KEYS[2], "-inf", now)
	if ARGV[3] == "1" and not own and redis.call("zcard", KEYS[2]) > 0 then return 0 end `

const expire = `if redis.call("pttl", KEYS[1]) < ARGV[2] * 2 then redis.call("pexpire", KEYS[1], ARGV[2] * 2) end
	return 1`

// The scripts of an acquire by its mistake, those of a release, and both of them.
var (
	enters = map[string]*redis.Script{
		"":                     redis.NewScript(now + clean + weigh + refuse + put + expire),
		"writers-first":        redis.NewScript(now + clean + weigh + queued + refuse + `redis.call("zrem", KEYS[2], ARGV[1]) ` + put + expire),
		"readers-pass-writers": redis.NewScript(now + clean + weigh + refuse + `redis.call("zrem", KEYS[2], ARGV[1]) ` + put + expire),
		"queues-anyway":        redis.NewScript(now + clean + weigh + strings.Replace(queued, "not own and ", "", 1) + refuse + `redis.call("zrem", KEYS[2], ARGV[1]) ` + put + expire),
		"stays-queued":         redis.NewScript(now + clean + weigh + queued + refuse + put + expire),
		"one-more":             redis.NewScript(now + clean + weigh + `if sum > tonumber(ARGV[4]) + 1 then return 0 end ` + put + expire),
		"one-fewer":            redis.NewScript(now + clean + weigh + `if sum >= tonumber(ARGV[4]) then return 0 end ` + put + expire),
		"never-cleaned":        redis.NewScript(now + weigh + refuse + put + `return 1`),
		"shared-lease":         redis.NewScript(now + weigh + refuse + put + `redis.call("pexpire", KEYS[1], ARGV[2]) return 1`),
		"first-lease":          redis.NewScript(now + clean + weigh + refuse + put + `if redis.call("pttl", KEYS[1]) < 0 then redis.call("pexpire", KEYS[1], ARGV[2]) end return 1`),
		"half-expiry":          redis.NewScript(now + clean + weigh + refuse + put + `redis.call("pexpire", KEYS[1], math.floor(ARGV[2] / 2)) return 1`),
		"readers-pass":         redis.NewScript(now + clean + weigh + `if ARGV[3] ~= "1" and sum > tonumber(ARGV[4]) then return 0 end ` + put + expire),
		"writers-pass":         redis.NewScript(now + clean + weigh + `if ARGV[3] == "1" and sum > tonumber(ARGV[4]) then return 0 end ` + put + expire),
		"counts-members":       redis.NewScript(now + clean + `if redis.call("zcard", KEYS[1]) + ARGV[3] > tonumber(ARGV[4]) then return 0 end ` + put + expire),
		"one-reader":           redis.NewScript(now + clean + `if redis.call("zcard", KEYS[1]) > 0 then return 0 end ` + put + expire),
		"takes-a-part": redis.NewScript(now + clean + weigh + `if sum > tonumber(ARGV[4]) then
			local part = tonumber(ARGV[3]) - (sum - ARGV[4])
			if part > 0 then redis.call("zadd", KEYS[1], now + ARGV[2], part .. string.match(ARGV[1], ":.*")) end
			return 0
		end ` + put + expire),
		"evicts":        redis.NewScript(now + clean + weigh + `if sum > tonumber(ARGV[4]) then redis.call("zpopmin", KEYS[1]) end ` + put + expire),
		"writer-evicts": redis.NewScript(now + clean + `if ARGV[3] ~= "1" then redis.call("del", KEYS[1]) end ` + weigh + refuse + put + expire),
		"renews-all":    redis.NewScript(now + clean + weigh + `for _, m in ipairs(redis.call("zrange", KEYS[1], 0, -1)) do redis.call("zadd", KEYS[1], now + ARGV[2], m) end ` + refuse + put + expire),
		"refused-stays": redis.NewScript(now + clean + weigh + put + refuse + expire),
		"double-lease":  redis.NewScript(now + clean + weigh + refuse + `redis.call("zadd", KEYS[1], now + ARGV[2] * 2, ARGV[1]) redis.call("pexpire", KEYS[1], ARGV[2] * 2) return 1`),
		"half-lease":    redis.NewScript(now + clean + weigh + refuse + `redis.call("zadd", KEYS[1], now + math.floor(ARGV[2] / 2), ARGV[1]) ` + expire),
		"whole-seconds": redis.NewScript(now + clean + weigh + refuse + `redis.call("zadd", KEYS[1], math.floor((now + ARGV[2]) / 1000) * 1000, ARGV[1]) ` + expire),
		"no-end":        redis.NewScript(now + clean + weigh + refuse + `redis.call("zadd", KEYS[1], "+inf", ARGV[1]) return 1`),
		"late-clean":    redis.NewScript(now + `redis.call("zremrangebyscore", KEYS[1], "-inf", now - 5000) ` + weigh + refuse + put + `redis.call("pexpire", KEYS[1], ARGV[2] + 5000) return 1`),
		"own-way":       redis.NewScript(now + clean + weigh + `if own then return 0 end ` + refuse + put + expire),
		"own-right":     redis.NewScript(now + clean + weigh + `if not own then ` + refuse + `end ` + put + expire),
		"gives-up":      redis.NewScript(now + clean + weigh + `if own and ARGV[3] ~= "1" then redis.call("zrem", KEYS[1], own) end ` + refuse + put + expire),
		"one-lease":     redis.NewScript(now + clean + weigh + refuse + `redis.call("zadd", KEYS[1], own and redis.call("zscore", KEYS[1], own) or now + ARGV[2], ARGV[1]) ` + expire),
		"early-clean":   redis.NewScript(now + `redis.call("zremrangebyscore", KEYS[1], "-inf", now + ARGV[2] / 2) ` + weigh + refuse + put + expire),
	}
	leaves = map[string]*redis.Script{
		"": redis.NewScript(now + `
			local ends = redis.call("zscore", KEYS[1], ARGV[1])
			redis.call("zrem", KEYS[1], ARGV[1])
			if ends and tonumber(ends) > now then return 1 end
			return 0`),
		"clears":                redis.NewScript(`return redis.call("del", KEYS[1])`),
		"reader-clears":         redis.NewScript(`if string.match(ARGV[1], "^1:") then return redis.call("del", KEYS[1]) end return redis.call("zrem", KEYS[1], ARGV[1])`),
		"gives-back-the-oldest": redis.NewScript(`return #redis.call("zpopmin", KEYS[1]) / 2`),
		"always-left":           redis.NewScript(`redis.call("zrem", KEYS[1], ARGV[1]) return 1`),
		"gives-one-back": redis.NewScript(now + `
			local ends = redis.call("zscore", KEYS[1], ARGV[1])
			redis.call("zrem", KEYS[1], ARGV[1])
			local weight, owner = string.match(ARGV[1], "^(%d+)(:.*)")
			if ends and weight ~= "1" then redis.call("zadd", KEYS[1], ends, (weight - 1) .. owner) end
			return ends and tonumber(ends) > now and 1 or 0`),
		"leaves-both": redis.NewScript(weigh + `if own and string.match(ARGV[1], "^1000") then redis.call("zrem", KEYS[1], own) end
			return redis.call("zrem", KEYS[1], ARGV[1])`),
		"stays-writer": redis.NewScript(weigh + `return own and 1 or redis.call("zrem", KEYS[1], ARGV[1])`),
		"looks-only":   redis.NewScript(`return redis.call("zscore", KEYS[1], ARGV[1]) and 1 or 0`),
		"other-key":    redis.NewScript(`redis.call("zrem", KEYS[1] .. ":holds", ARGV[1]) return 1`),
	}
	count = redis.NewScript(now + clean + weigh + `return sum`)
	add   = redis.NewScript(now + put + expire)

	// Those with which a writer says that it waits.
	waits = map[string]*redis.Script{
		"":             redis.NewScript(now + `redis.call("zadd", KEYS[2], now + 1000, ARGV[1]) return redis.call("pexpire", KEYS[2], 1000)`),
		"stays-queued": redis.NewScript(`return redis.call("zadd", KEYS[2], "+inf", ARGV[1])`),
	}
	unqueue = redis.NewScript(`return redis.call("zrem", KEYS[2], ARGV[1])`)
)

// scriptOf is the script with a mistake, or the right one.
func scriptOf(scripts map[string]*redis.Script, mistake string) *redis.Script {
	if s := scripts[mistake]; s != nil {
		return s
	}
	return scripts[""]
}

// Room is one owner's view of a lock. Its client must not send a command twice.
type Room struct {
	Redis    *redis.Client
	Name     string
	Owner    string
	Lease    time.Duration
	Capacity int
	Mistake  string // a defect for tests; a right lock has none
	Queues   bool   // readers wait behind writers who wait
	Abandons bool   // a grant without an answer stays until its lease ends

	attempts int
	value    string // of the last attempt: a late request of an older one finds nothing
	until    time.Time
}

// Enter takes a hold of a weight, and waits for it until ctx ends. It then returns
// [ErrFull].
func (m *Room) Enter(ctx context.Context, weight int) error {
	m.rename(weight)
	wait, poll := ctx, Poll
	switch m.Mistake {
	case "long-poll":
		poll = 4 * time.Second
	case "waits-on":
		wait = context.WithoutCancel(ctx)
	}
	for tries := 1; ; tries++ {
		sent := time.Now()
		granted, err := m.ask(ctx, weight)
		switch {
		case err != nil && m.Mistake == "error-is-grant":
			m.until = sent.Add(m.Lease)
			return nil
		case err != nil && m.Mistake == "error-is-full", !granted && tries == 3 && m.Mistake == "three-tries":
			return fmt.Errorf("enter %s: %w", m.Name, ErrFull)
		case err != nil:
			if !m.Abandons {
				_, _ = m.run(ctx, leaves[""], weight) // else the lease ends it
			}
			return fmt.Errorf("enter %s: %w: %w", m.Name, ErrUnclear, err)
		case granted && time.Since(sent) >= m.Lease && m.Mistake != "until-from-answer":
			_, _ = m.run(ctx, leaves[""], weight)
			return fmt.Errorf("enter %s: %w: the answer came after the lease", m.Name, ErrUnclear)
		case granted:
			if m.until = sent.Add(m.Lease - scoreUnit); m.Mistake == "until-from-answer" {
				m.until = time.Now().Add(m.Lease)
			}
			return nil
		}
		if m.Queues && weight > 1 { // a writer, or readers pass
			_, _ = m.run(ctx, scriptOf(waits, m.Mistake), weight)
		}
		select {
		case <-wait.Done():
			if m.Queues && m.Mistake != "stays-queued" {
				_, _ = m.run(ctx, unqueue, weight)
			}
			return fmt.Errorf("enter %s: %w", m.Name, ErrFull)
		case <-time.After(poll):
		}
	}
}

// rename gives the next attempt a member of its own.
func (m *Room) rename(weight int) {
	m.attempts++
	m.value = fmt.Sprintf("%d:%s#%d", weight, m.Owner, m.attempts)
	if m.Mistake == "one-id" { // of all permits that are asked for as often
		m.value = fmt.Sprintf("%d:permit#%d", weight, m.attempts)
	}
}

// try asks once, under a new name.
func (m *Room) try(ctx context.Context, weight int) error {
	m.rename(weight)
	switch granted, err := m.ask(ctx, weight); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnclear, err)
	case !granted:
		return ErrFull
	}
	return nil
}

func isUnclear(err error) bool { return errors.Is(err, ErrUnclear) }

func (m *Room) ask(ctx context.Context, weight int) (bool, error) {
	if m.Mistake == "check-then-put" {
		if sum, err := m.run(ctx, count, weight); err != nil || sum > m.Capacity {
			return false, err
		}
		n, err := m.run(ctx, add, weight)
		return n == 1, err
	}
	enter := m.Mistake
	if m.Queues && enter == "" {
		enter = "writers-first"
	}
	n, err := m.run(ctx, scriptOf(enters, enter), weight)
	return n == 1, err
}

// Until is the end of the hold.
func (m *Room) Until() time.Time { return m.until }

// Leave gives the hold back, also if ctx has ended.
func (m *Room) Leave(ctx context.Context) error {
	switch {
	case m.Mistake == "stays":
		return nil
	case m.Mistake == "callers-context" && ctx.Err() != nil:
		return fmt.Errorf("leave %s: %w", m.Name, ErrNotHeld)
	}
	n, err := m.run(ctx, scriptOf(leaves, m.Mistake), 0)
	switch {
	case err != nil && m.Mistake == "swallowed-error":
		return nil
	case err != nil && m.Mistake != "error-is-gone":
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
	return script.Run(ctx, m.Redis, []string{m.Name, m.Name + ":writers"}, m.value, m.Lease.Milliseconds(), weight, m.Capacity).Int()
}
