// Package clocked has locks that ask for the time of their client. A right one only
// measures elapsed time, or shows the time to people. A mistake compares it with a time of
// another clock.
package clocked

import (
	"context"
	"errors"
	"fmt"
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

// Counter is the key of the last token of a lock.
func Counter(name string) string { return name + ":token" }

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Owner   string
	Lease   time.Duration
	Now     func() time.Time
	Fenced  bool   // grants have a token
	Kind    string // "plain", "stored" or "permits"
	Mistake string // a defect for tests; a right lock has none

	asked int
	value string    // of the last attempt
	began time.Time // that attempt
	token uint64
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	for {
		granted, err := m.once(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case granted && m.Now().Sub(m.began) >= m.Lease:
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case granted:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(m.pause(ctx)):
		}
	}
}

// pause is the time until the next look.
func (m *Mutex) pause(ctx context.Context) time.Duration {
	if m.Mistake != "sleeps-until-end" {
		return Poll
	}
	seen, err := m.Redis.Get(ctx, m.Name).Result()
	_, label, _ := strings.Cut(seen, "|")
	began, bad := strconv.ParseInt(label, 10, 64)
	if err != nil || bad != nil {
		return Poll
	}
	return max(Poll, time.UnixMilli(began).Add(m.Lease).Sub(m.Now().Round(0)))
}

// once looks once. It goes on for a while after the end of a wait, so it usually knows
// its outcome.
func (m *Mutex) once(ctx context.Context) (granted bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	m.asked++
	m.began = m.Now()
	// The time in the value is for people.
	m.value = fmt.Sprintf("%s#%d|%d", m.Owner, m.asked, m.began.UnixMilli())
	switch m.Kind {
	case "stored":
		return m.takeStored(ctx)
	case "permits":
		return m.run(ctx, enter, m.Lease.Milliseconds(), m.time(m.Mistake != ""), m.Mistake)
	}
	granted, err = m.run(ctx, set, m.Lease.Milliseconds(), m.began.UnixMilli(), m.Mistake)
	if granted && m.Fenced {
		m.token, err = m.nextToken(ctx)
	}
	return granted, err
}

// nextToken is greater than all before, with the time of the server or the mistake's.
func (m *Mutex) nextToken(ctx context.Context) (uint64, error) {
	switch m.Mistake {
	case "token-in-ns":
		return uint64(m.Now().UnixNano()), nil
	case "token-in-us":
		return uint64(m.Now().UnixMicro()), nil
	case "token-in-ms-and-count":
		return uint64(m.Now().UnixMilli())<<8 | uint64(m.asked&0xff), nil
	}
	return m.Redis.Incr(ctx, Counter(m.Name)).Uint64()
}

// Token is that of the hold.
func (m *Mutex) Token() uint64 { return m.token }

// time is the argument of a script: the time of the client in milliseconds, or that the
// server is to ask itself.
func (m *Mutex) time(ofClient bool) int64 {
	if ofClient {
		return m.Now().UnixMilli()
	}
	return 0
}

// design is what a stored lock keeps in its key, and with what it is compared.
type design struct {
	start           bool // the begin of the hold is stored, and not its end
	seconds         bool
	stores, asks    bool // the time of a client, and not of the server
	slack           int64
	getSet, deletes bool
}

// designs are those of the mistakes of a stored lock. The right one asks only the server.
var designs = map[string]design{
	"end":                         {stores: true, asks: true},
	"end-in-seconds":              {stores: true, asks: true, seconds: true},
	"start":                       {stores: true, asks: true, start: true},
	"start-in-seconds":            {stores: true, asks: true, start: true, seconds: true},
	"end-for-the-server":          {stores: true},
	"start-for-the-server":        {stores: true, start: true},
	"end-in-seconds-for-server":   {stores: true, seconds: true},
	"start-in-seconds-for-server": {stores: true, start: true, seconds: true},
	"end-of-the-server":           {asks: true},
	"start-of-the-server":         {asks: true, start: true},
	"end-in-seconds-of-server":    {asks: true, seconds: true},
	"start-in-seconds-of-server":  {asks: true, start: true, seconds: true},
	"five-seconds-more":           {stores: true, asks: true, slack: 5000},
	"getset":                      {stores: true, asks: true, getSet: true},
	"deletes-stale":               {stores: true, asks: true, deletes: true},
}

func (m *Mutex) takeStored(ctx context.Context) (bool, error) {
	d := designs[m.Mistake]
	if d.getSet || d.deletes {
		return m.takeOver(ctx, d)
	}
	unit, after := 1, m.Lease.Milliseconds()
	if d.seconds {
		unit = 1000
	}
	window := d.slack
	if d.start {
		after, window = 0, window+m.Lease.Milliseconds()
	}
	return m.run(ctx, take, m.time(d.stores), m.time(d.asks), after, window, unit)
}

// takeOver takes a lock with a stored end in several commands.
func (m *Mutex) takeOver(ctx context.Context, d design) (bool, error) {
	m.value = fmt.Sprintf("%d|%s#%d", m.began.Add(m.Lease).UnixMilli(), m.Owner, m.asked)
	if ok, err := m.Redis.SetNX(ctx, m.Name, m.value, 0).Result(); ok || err != nil {
		return ok, err
	}
	seen, err := m.Redis.Get(ctx, m.Name).Result()
	if err != nil {
		return false, ignoreNil(err)
	}
	ends, _, _ := strings.Cut(seen, "|")
	if n, err := strconv.ParseInt(ends, 10, 64); err != nil || m.Now().UnixMilli() <= n {
		return false, err
	}
	if d.deletes {
		if removed, err := m.run(ctx, removeValue, seen); !removed || err != nil {
			return false, err
		}
		return m.Redis.SetNX(ctx, m.Name, m.value, 0).Result()
	}
	before, err := m.Redis.GetSet(ctx, m.Name, m.value).Result()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	return before == seen, err
}

// Until is the end of the hold.
func (m *Mutex) Until() time.Time { return m.began.Add(m.Lease) }

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	over := m.Now().Sub(m.began) >= m.Lease
	if m.Mistake == "release-by-wall" && m.Now().Round(0).Sub(m.began.Round(0)) >= m.Lease {
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	script := removeValue
	if m.Kind == "permits" {
		script = leave
	}
	switch removed, err := m.run(ctx, script, m.value); {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %v", m.Name, ErrUnclear, err)
	case !removed || over:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

func (m *Mutex) run(ctx context.Context, script *redis.Script, args ...any) (bool, error) {
	if script != removeValue && script != leave {
		args = append([]any{m.value}, args...)
	}
	n, err := script.Run(ctx, m.Redis, []string{m.Name}, args...).Int()
	return n == 1, err
}

func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

const serverTime = `local t = redis.call('time') local server = t[1] * 1000 + math.floor(t[2] / 1000) `

var (
	// set is SET NX PX. ARGV: value, lease, time of the client, mistake.
	set = redis.NewScript(`
		local took
		if ARGV[4] == 'pxat' then
			took = redis.call('set', KEYS[1], ARGV[1], 'nx', 'pxat', ARGV[3] + ARGV[2])
		elseif ARGV[4] == 'expireat' then
			took = redis.call('set', KEYS[1], ARGV[1], 'nx')
			if took then redis.call('pexpireat', KEYS[1], ARGV[3] + ARGV[2]) end
		else
			took = redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
		end
		return took and 1 or 0`)
	// take keeps a time in a hash. ARGV: value, the time to store, the time to compare with,
	// what is added to the first, what may have passed, the unit.
	take = redis.NewScript(serverTime + `
		local function of(client) return tonumber(client) > 0 and tonumber(client) or server end
		local at = redis.call('hget', KEYS[1], 'at')
		if at and math.floor(of(ARGV[3]) / ARGV[6]) <= at + math.ceil(ARGV[5] / ARGV[6]) then return 0 end
		redis.call('hset', KEYS[1], 'value', ARGV[1], 'at', math.ceil((of(ARGV[2]) + ARGV[4]) / ARGV[6]))
		return 1`)
	removeValue = redis.NewScript(`
		local kind = redis.call('type', KEYS[1]).ok
		local value = kind == 'hash' and redis.call('hget', KEYS[1], 'value') or kind == 'string' and redis.call('get', KEYS[1])
		if value == ARGV[1] then return redis.call('del', KEYS[1]) end
		return 0`)
	// enter takes one of two permits. ARGV: value, lease, time or 0, mistake.
	enter = redis.NewScript(serverTime + `
		local now, lease, window = tonumber(ARGV[3]), tonumber(ARGV[2]), 0
		if now == 0 then now = server end
		if ARGV[4] == 'scored-by-start' or ARGV[4] == 'ranked' then
			window = lease
			lease = 0
		end
		redis.call('zremrangebyscore', KEYS[1], '-inf', '(' .. (now - window))
		if ARGV[4] == 'ranked' then
			redis.call('zadd', KEYS[1], now, ARGV[1])
			if redis.call('zcard', KEYS[1]) <= 2 or redis.call('zrank', KEYS[1], ARGV[1]) < 2 then return 1 end
			redis.call('zrem', KEYS[1], ARGV[1])
			return 0
		end
		if redis.call('zcard', KEYS[1]) >= 2 then return 0 end
		redis.call('zadd', KEYS[1], now + lease, ARGV[1])
		return 1`)
	leave = redis.NewScript(`return redis.call('zrem', KEYS[1], ARGV[1])`)
)
