package reported

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Plain is one owner's view of the lock of Redis' documentation: a string with an
// expiry, which its owner can extend. Its client must not send a command twice.
type Plain struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration // 0 for a hold without an end
	Rand    *rand.Rand
	Mistake string
	Shared  *Values // of the process, for a lock object that its threads share

	value string
	until time.Time
}

// Values are those that the lock objects of a process remember, by name.
type Values struct {
	mu sync.Mutex
	of map[string]string
}

func (v *Values) set(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[string]string{}
	}
	v.of[name] = value
}

func (v *Values) get(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.of[name]
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Plain) Lock(ctx context.Context) error {
	value := fmt.Sprintf("%016x", m.Rand.Uint64())
	for {
		sent := time.Now()
		one, done := answered(ctx)
		ok, err := m.take(one, value)
		done()
		switch {
		case err != nil && m.Mistake == "redbeat-208" && !errors.Is(ctx.Err(), context.Canceled):
			ok = true // the caller goes on after any exception
		case err != nil && m.Mistake == "redlock-rb-108" && !errors.Is(ctx.Err(), context.Canceled):
		case err != nil && m.Lease == 0: // nothing else would end what it may have been granted
			go m.takeBack(ctx, value)
			return failed(ctx, m.Name, err)
		case err != nil:
			return failed(ctx, m.Name, err)
		}
		if ok {
			return m.granted(ctx, value, sent)
		}
		select {
		case <-ctx.Done():
			return over(ctx, m.Name)
		case <-time.After(Poll):
		}
	}
}

// takeBack asks until something was given back, or for the time of a shutdown. Where
// nothing is there yet, the request may still be on its way.
func (m *Plain) takeBack(ctx context.Context, value string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	for ctx.Err() == nil {
		n, err := release.Run(ctx, m.Redis, []string{m.Name}, value).Int64()
		if n == 1 || errors.Is(err, redis.ErrClosed) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

func (m *Plain) take(ctx context.Context, value string) (bool, error) {
	switch m.Mistake {
	case "laravel-31166":
		ok, err := m.Redis.SetNX(ctx, m.Name, value, 0).Result()
		if ok {
			err = m.Redis.PExpire(ctx, m.Name, m.Lease).Err()
		}
		return ok, err
	case "mega_mutex-6":
		is, err := m.Redis.Get(ctx, m.Name).Result()
		if is != "" || err != nil && !errors.Is(err, redis.Nil) {
			return false, err
		}
		return true, m.Redis.Set(ctx, m.Name, value, m.Lease).Err()
	case "rb-redis-semaphore-23":
		_, err := m.Redis.GetSet(ctx, m.Name, value).Result()
		if !errors.Is(err, redis.Nil) {
			return false, err
		}
		return true, m.Redis.PExpire(ctx, m.Name, m.Lease).Err()
	}
	return m.Redis.SetNX(ctx, m.Name, value, m.Lease).Result()
}

// granted notes a hold, unless its lease is over.
func (m *Plain) granted(ctx context.Context, value string, sent time.Time) error {
	until := sent.Add(m.Lease)
	if m.Mistake == "symfony-38541" && !m.until.IsZero() && m.until.Before(until) {
		until = m.until // a lifetime that the hold before has used up
	}
	if m.Lease > 0 && !time.Now().Before(until) {
		if m.Mistake != "symfony-31426" {
			one, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer done()
			_ = release.Run(one, m.Redis, []string{m.Name}, value).Err()
		}
		return late(m.Name)
	}
	m.value, m.until = value, until
	if m.Mistake == "redis-py-489" {
		m.Shared.set(m.Name, value)
	}
	return nil
}

// Until is the end of the hold; zero for one without an end.
func (m *Plain) Until() time.Time {
	if m.Lease == 0 {
		return time.Time{}
	}
	return m.until
}

// Extend makes the hold last for a lease from now on.
func (m *Plain) Extend(ctx context.Context, lease time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	sent := time.Now()
	var n int64
	var err error
	switch {
	case m.Mistake == "python-redis-lock-25":
		n, err = stretch.Run(ctx, m.Redis, []string{m.Name}, m.value, lease.Milliseconds()).Int64()
	case m.Mistake == "redlock-rb-44":
		n, err = extend.Run(ctx, m.Redis, []string{m.Name}, m.value, lease.Milliseconds()*1000).Int64()
	case m.Mistake == "sherlock-66":
		n, err = release.Run(ctx, m.Redis, []string{m.Name}, m.value, lease.Milliseconds()).Int64()
	case m.Mistake == "redis-py-4279":
		n, err = extend.Run(ctx, m.Redis, []string{m.Name}, m.value, m.Lease.Milliseconds()).Int64()
	case m.Lease == 0:
		var is string
		if is, err = m.Redis.Get(ctx, m.Name).Result(); errors.Is(err, redis.Nil) {
			err = nil
		}
		if is == m.value {
			n = 1
		}
	default:
		n, err = extend.Run(ctx, m.Redis, []string{m.Name}, m.value, lease.Milliseconds()).Int64()
	}
	switch {
	case err != nil:
		return fmt.Errorf("extend %s: %w: %v", m.Name, ErrUnclear, err)
	case n == 0:
		return fmt.Errorf("extend %s: %w", m.Name, ErrNotHeld)
	}
	m.until = sent.Add(lease)
	return nil
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Plain) Unlock(ctx context.Context) error {
	value := m.value
	if m.Mistake == "redis-py-489" {
		value = m.Shared.get(m.Name)
		defer m.Shared.set(m.Name, "") // of whoever has come since
	}
	lease := m.Lease
	if lease == 0 {
		lease = 10 * time.Second
	}
	return giveBack(ctx, m.Name, lease, ErrNotHeld, func(ctx context.Context) (int64, error) {
		switch m.Mistake {
		case "laravel-26213", "rb-redis-semaphore-23":
			return m.Redis.Del(ctx, m.Name).Result()
		case "leshan-837":
			is, err := m.Redis.Get(ctx, m.Name).Result()
			if errors.Is(err, redis.Nil) || err == nil && is != value {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return m.Redis.Del(ctx, m.Name).Result()
		}
		if m.Lease == 0 { // nothing else ends the hold: a reply that asks for the script could get lost, and a connection be dead
			soon, done := context.WithTimeout(ctx, 400*time.Millisecond)
			defer done()
			return release.Eval(soon, m.Redis, []string{m.Name}, value).Int64()
		}
		return release.Run(ctx, m.Redis, []string{m.Name}, value).Int64()
	})
}
