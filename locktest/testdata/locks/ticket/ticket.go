// Package ticket grants a lock in the order of tickets, which a counter gives. A
// waiter that has not looked for a second has left the queue. Whoever looks hands a
// free lock to the first waiter, for a second, in which that one claims its lease.
package ticket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// Poll is the time between two looks of a waiter, and Patience how long a waiter
// that does not look has its place.
const (
	Poll     = 80 * time.Millisecond
	Patience = time.Second
)

// keys are the lock, the queue, the times of the last looks, and the counter.
func keys(name string) []string {
	return []string{name, Queue(name), Looks(name), Counter(name)}
}

// Queue, Looks and Counter are the keys beside the lock.
func Queue(name string) string   { return "queue:" + name }
func Looks(name string) string   { return "looks:" + name }
func Counter(name string) string { return "next:" + name }

const (
	now   = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `
	purge = `for _, gone in ipairs(redis.call("zrangebyscore", KEYS[3], "-inf", now - ARGV[3])) do
		redis.call("zrem", KEYS[2], gone) redis.call("zrem", KEYS[3], gone) end `
	claim  = `local holder = redis.call("get", KEYS[1]) if holder == ARGV[1] then redis.call("pexpire", KEYS[1], ARGV[2]) return 1 end `
	joins  = `if not redis.call("zscore", KEYS[2], ARGV[1]) then redis.call("zadd", KEYS[2], redis.call("incr", KEYS[4]), ARGV[1]) end `
	again  = `redis.call("zadd", KEYS[2], redis.call("incr", KEYS[4]), ARGV[1]) `
	looks  = `redis.call("zadd", KEYS[3], now, ARGV[1]) for i = 2, 3 do redis.call("pexpire", KEYS[i], 60000) end `
	once   = `if not redis.call("zscore", KEYS[3], ARGV[1]) then redis.call("zadd", KEYS[3], now, ARGV[1]) end `
	first  = `if holder then return 0 end local head = redis.call("zrange", KEYS[2], 0, 0)[1] `
	latest = `if holder then return 0 end local head = redis.call("zrange", KEYS[3], 0, 0)[1] `
	self   = `if holder then return 0 end local head = ARGV[1] `
	hands  = `redis.call("set", KEYS[1], head, "px", ARGV[3]) redis.call("zrem", KEYS[2], head) redis.call("zrem", KEYS[3], head)
		if head == ARGV[1] then redis.call("pexpire", KEYS[1], ARGV[2]) return 1 end return 0`
)

var (
	look = map[string]*redis.Script{
		"":               redis.NewScript(now + purge + claim + joins + looks + first + hands),
		"rejoins":        redis.NewScript(now + purge + claim + again + looks + first + hands),
		"overtakes":      redis.NewScript(now + purge + claim + joins + looks + self + hands),
		"looks-once":     redis.NewScript(now + purge + claim + joins + once + first + hands),
		"order-of-looks": redis.NewScript(now + purge + claim + joins + looks + latest + hands),
		"whole-lease":    redis.NewScript(now + purge + claim + joins + looks + first + strings.Replace(hands, "ARGV[3]", "ARGV[2]", 1)),
		"queue-stays":    redis.NewScript(now + purge + claim + joins + strings.Replace(looks, `redis.call("pexpire", KEYS[i], 60000)`, "", 1) + first + hands),
		"unclaimed":      redis.NewScript(now + purge + strings.Replace(claim, `redis.call("pexpire", KEYS[1], ARGV[2])`, "", 1) + joins + looks + first + hands),
	}
	unqueue = `redis.call("zrem", KEYS[2], ARGV[1]) redis.call("zrem", KEYS[3], ARGV[1]) `
	remove  = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	leave   = redis.NewScript(unqueue + remove)
	part    = map[string]*redis.Script{
		"leaves-its-turn":  redis.NewScript(unqueue + `return 0`),
		"leaves-its-place": redis.NewScript(remove),
	}
	dropQueue = redis.NewScript(strings.Replace(remove, `"del", KEYS[1]`, `"del", KEYS[1], KEYS[2], KEYS[3]`, 1))
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Owner   string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value string // of the present acquire
	until time.Time
}

// OwnerOf is the owner of a value. Each acquire has a value of its own, so a late request
// of an earlier one finds nothing.
func OwnerOf(value string) string {
	owner, _, _ := strings.Cut(value, "#")
	return owner
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	script := look[m.Mistake]
	if script == nil {
		script = look[""]
	}
	m.value = fmt.Sprintf("%s#%016x", m.Owner, m.Rand.Uint64())
	for {
		sent := time.Now()
		n, err := m.ask(ctx, script)
		switch {
		case err != nil:
			_ = m.leave(ctx) // the outcome is unclear in any case
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case n == 1 && time.Since(sent) >= m.Lease:
			_ = m.leave(ctx)
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case n == 1:
			m.until = sent.Add(m.Lease)
			return nil
		}
		select {
		case <-ctx.Done():
			if err := m.leave(ctx); err != nil { // its place may still be handed the lock
				return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
			}
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// ask looks once. The end of a wait does not cut it off at once.
func (m *Mutex) ask(ctx context.Context, script *redis.Script) (int, error) {
	limit := time.Now().Add(3 * time.Second)
	if d, bounded := ctx.Deadline(); bounded && d.Add(grace).Before(limit) {
		limit = d.Add(grace)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), limit)
	defer cancel()
	return script.Run(ctx, m.Redis, keys(m.Name), m.value, m.Lease.Milliseconds(), Patience.Milliseconds()).Int()
}

const grace = 300 * time.Millisecond

// leave gives up the place in the queue, and the turn if it has come.
func (m *Mutex) leave(ctx context.Context) error {
	script := leave
	if s := part[m.Mistake]; s != nil {
		script = s
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
	defer cancel()
	return script.Run(ctx, m.Redis, keys(m.Name), m.value).Err() // else the server forgets it
}

// Until is the end of the hold.
func (m *Mutex) Until() time.Time { return m.until }

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	script := leave
	if m.Mistake == "drops-queue" {
		script = dropQueue
	}
	n, err := script.Run(ctx, m.Redis, keys(m.Name), m.value).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %v", m.Name, ErrUnclear, err)
	case n == 0 && m.Mistake != "always-released":
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}
