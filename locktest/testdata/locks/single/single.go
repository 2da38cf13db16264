// Package single is the lock of Redis' documentation for one server ("Correct
// implementation with a single instance"): SET NX PX with a random value, and a
// script that deletes the key only if it still has that value.
package single

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
	ErrUnclear = errors.New("the server may have granted the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

// Poll is the time between two looks of a waiter.
const Poll = 50 * time.Millisecond

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value  string
	until  time.Time
	failed int // tries in a row
}

// margin is how much earlier than the server an owner takes its lease as over.
const margin = 2 * time.Millisecond

// Until is when the present hold is no longer valid.
func (m *Mutex) Until() time.Time { return m.until }

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	if m.Mistake != "own-is-grant" || m.value == "" {
		m.value = fmt.Sprintf("%016x%016x", m.Rand.Uint64(), m.Rand.Uint64())
	}
	if m.Mistake == "constant-value" {
		m.value = "locked"
	}
	if m.Mistake == "cut-name" {
		m.Name, _, _ = strings.Cut(m.Name, ":")
	}
	if m.Mistake == "leaked-connection" {
		m.Redis = redis.NewClient(m.Redis.Options())
	}
	for tries := 1; ; tries++ {
		sent := time.Now()
		ok, err := m.try(ctx)
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
		case err != nil && m.Mistake == "error-is-grant":
			m.until = sent.Add(m.Lease - margin)
			return nil
		case err != nil && m.Mistake == "error-is-busy":
			return ErrTaken
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case ok && time.Since(sent) >= m.Lease && m.Mistake != "stale-grant":
			// The request may have come late, and still keep others out.
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case ok:
			m.until = sent.Add(m.Lease - margin)
			if m.Mistake == "until-from-reply" {
				m.until = time.Now().Add(m.Lease - margin)
			}
			return nil
		case m.Mistake == "three-tries" && tries == 3:
			return ErrTaken
		}
		wait, ended := Poll, ctx.Done()
		switch m.Mistake {
		case "long-sleep":
			wait = Poll * 1000
		case "waits-on":
			ctx, ended = context.WithoutCancel(ctx), nil
		}
		select {
		case <-ended:
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(wait):
		}
	}
}

// LockFor is [Mutex.Lock] with a lease of its own.
func (m *Mutex) LockFor(ctx context.Context, lease time.Duration) error {
	usual := m.Lease
	m.Lease = lease
	defer func() { m.Lease = usual }()
	return m.Lock(ctx)
}

var extend = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)

// Extend makes the hold last for a lease from now on.
func (m *Mutex) Extend(ctx context.Context, lease time.Duration) error {
	sent := time.Now()
	n, err := m.extend(ctx, lease)
	switch {
	case err != nil:
		return fmt.Errorf("extend %s: %w: %v", m.Name, ErrUnclear, err)
	case n == 0 && m.Mistake != "extend-answer-ignored":
		return ErrNotHeld
	}
	m.until = sent.Add(lease - margin)
	if m.Mistake == "extend-overstated" {
		m.until = sent.Add(lease + time.Second)
	}
	return nil
}

func (m *Mutex) extend(ctx context.Context, lease time.Duration) (int, error) {
	switch m.Mistake {
	case "extend-nothing":
		return 1, nil
	case "extend-unchecked":
		ok, err := m.Redis.PExpire(ctx, m.Name, lease).Result()
		if ok {
			return 1, err
		}
		return 0, err
	case "extend-sets":
		return 1, m.Redis.Set(ctx, m.Name, m.value, lease).Err()
	case "extend-recreates":
		if ok, err := m.Redis.SetNX(ctx, m.Name, m.value, lease).Result(); ok || err != nil {
			return 1, err
		}
	case "extend-in-seconds":
		lease /= 1000
	case "extend-too-long":
		lease *= 10
	}
	return extend.Run(ctx, m.Redis, []string{m.Name}, m.value, lease.Milliseconds()).Int()
}

func (m *Mutex) try(ctx context.Context) (bool, error) {
	switch m.Mistake {
	case "no-expiry":
		return m.Redis.SetNX(ctx, m.Name, m.value, 0).Result()
	case "expiry-second":
		ok, err := m.Redis.SetNX(ctx, m.Name, m.value, 0).Result()
		if ok {
			err = m.Redis.PExpire(ctx, m.Name, m.Lease).Err()
		}
		return ok, err
	case "wrong-unit":
		return m.Redis.SetNX(ctx, m.Name, m.value, m.Lease/10).Result()
	case "long-lease":
		return m.Redis.SetNX(ctx, m.Name, m.value, m.Lease*10).Result()
	case "no-nx":
		return true, m.Redis.Set(ctx, m.Name, m.value, m.Lease).Err()
	case "exists-then-set":
		if n, err := m.Redis.Exists(ctx, m.Name).Result(); err != nil || n > 0 {
			return false, err
		}
		return true, m.Redis.Set(ctx, m.Name, m.value, m.Lease).Err()
	case "own-is-grant": // one that was asked for long ago
		old, err := m.Redis.SetArgs(ctx, m.Name, m.value, redis.SetArgs{Mode: "NX", TTL: m.Lease, Get: true}).Result()
		return errors.Is(err, redis.Nil) || old == m.value, ignoreNil(err)
	case "swap": // take it anyway, and put back what was there
		old, err := m.Redis.SetArgs(ctx, m.Name, m.value, redis.SetArgs{TTL: m.Lease, Get: true}).Result()
		if err != nil {
			return errors.Is(err, redis.Nil), ignoreNil(err)
		}
		return false, m.Redis.Set(ctx, m.Name, old, redis.KeepTTL).Err()
	case "hedged":
		return m.hedged(ctx)
	case "fails-open":
		ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
		if m.failed++; err == nil {
			m.failed = 0
		}
		return ok || m.failed > 2, nil
	case "taken-early": // half a second before its lease ends
		left, err := m.Redis.PTTL(ctx, m.Name).Result()
		if err != nil || left > 500*time.Millisecond {
			return false, err
		}
		return true, m.Redis.Set(ctx, m.Name, m.value, m.Lease).Err()
	case "waiters-prolong":
		ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
		if err == nil && !ok {
			err = m.Redis.PExpire(ctx, m.Name, m.Lease).Err()
		}
		return ok, err
	}
	return m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	if m.Mistake != "callers-context" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
		defer cancel()
	}
	n, err := m.delete(ctx)
	switch {
	case err != nil && m.Mistake == "swallowed-release":
		return nil
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case n == 0 && m.Mistake != "always-released":
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	case m.Mistake == "double-release":
		_ = m.Redis.Del(ctx, m.Name).Err()
	}
	return nil
}

func (m *Mutex) delete(ctx context.Context) (int64, error) {
	switch m.Mistake {
	case "plain-delete":
		return m.Redis.Del(ctx, m.Name).Result()
	case "get-then-delete", "impatient-get-then-delete":
		if m.Mistake == "impatient-get-then-delete" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 600*time.Millisecond)
			defer cancel()
		}
		if v, err := m.Redis.Get(ctx, m.Name).Result(); err != nil || v != m.value {
			return 0, ignoreNil(err)
		}
		return m.Redis.Del(ctx, m.Name).Result()
	case "put-back": // takes the value out to look at it
		v, err := m.Redis.GetDel(ctx, m.Name).Result()
		if err != nil || v == m.value {
			return int64(len(v)), ignoreNil(err)
		}
		return 0, m.Redis.SetNX(ctx, m.Name, v, m.Lease).Err()
	case "in-the-background":
		value := m.value
		go func() { _ = release.Run(context.WithoutCancel(ctx), m.Redis, []string{m.Name}, value).Err() }()
		return 1, nil
	case "no-release":
		return 1, nil
	case "other-key":
		return 1, release.Run(ctx, m.Redis, []string{m.Name + ":lock"}, m.value).Err()
	}
	return release.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
}

// hedged asks twice, takes the better answer, and undoes an unclear one, which is
// the same hold.
func (m *Mutex) hedged(ctx context.Context) (bool, error) {
	type answer struct {
		granted bool
		err     error
	}
	answers := make(chan answer, 2)
	for i := range 2 {
		go func() {
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			ok, err := m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
			answers <- answer{ok, err}
		}()
	}
	a, b := <-answers, <-answers
	if !a.granted && !b.granted {
		return false, errors.Join(a.err, b.err)
	}
	if a.err != nil || b.err != nil {
		_ = release.Run(ctx, m.Redis, []string{m.Name}, m.value).Err()
	}
	return true, nil
}

func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
