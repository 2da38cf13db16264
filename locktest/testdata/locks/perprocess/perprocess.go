// Package perprocess has one hold for a process, and a mutex that tells its owners
// apart: they queue in the process first, and one of them asks the server.
package perprocess

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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
const Poll = 50 * time.Millisecond

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// Process is what the owners of a process share. Its client must not send a
// command twice.
type Process struct {
	Redis   *redis.Client
	ID      string // of the process
	Lease   time.Duration
	Mistake string // a defect for tests; a right lock has none

	mu    sync.Mutex
	slots map[string]chan struct{} // by the name of the lock
}

// slot is what an owner of the process needs before it asks the server.
func (p *Process) slot(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots == nil {
		p.slots = map[string]chan struct{}{}
	}
	if p.slots[name] == nil {
		p.slots[name] = make(chan struct{}, 1)
	}
	return p.slots[name]
}

// Mutex is one owner's view of a lock.
type Mutex struct {
	*Process
	Name string
	Rand *rand.Rand

	value string
	inUse bool // it has the slot of the process
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	slot := m.slot(m.Name)
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return m.end(ctx)
	}
	return m.entered(m.ask(ctx))
}

// entered notes how the acquire of an owner with the slot ended.
func (m *Mutex) entered(err error) error {
	m.inUse = true
	if err != nil && m.Mistake != "slot-kept" {
		m.leave()
	}
	return err
}

// leave lets the next owner of the process ask.
func (m *Mutex) leave() {
	if m.inUse {
		m.inUse = false
		<-m.slot(m.Name)
	}
}

func (m *Mutex) end(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
	}
	return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
}

func (m *Mutex) ask(ctx context.Context) error {
	for {
		granted, err := m.once(ctx)
		if err != nil || granted {
			return err
		}
		select {
		case <-ctx.Done():
			return m.end(ctx)
		case <-time.After(Poll):
		}
	}
}

// once asks the server once.
func (m *Mutex) once(ctx context.Context) (granted bool, err error) {
	m.value = fmt.Sprintf("%016x", m.Rand.Uint64())
	sent := time.Now()
	request, done := answered(ctx)
	defer done()
	if m.Mistake == "one-value" {
		m.value = m.ID
		var old string
		old, err = m.Redis.SetArgs(request, m.Name, m.value, redis.SetArgs{Mode: "NX", TTL: m.Lease, Get: true}).Result()
		granted = errors.Is(err, redis.Nil) || old == m.value
		if errors.Is(err, redis.Nil) {
			err = nil
		}
	} else {
		granted, err = m.Redis.SetNX(request, m.Name, m.value, m.Lease).Result()
	}
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return false, fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
	case err != nil:
		return false, fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
	case granted && time.Since(sent) >= m.Lease:
		// The request may have come late, and still keep others out.
		return false, fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
	}
	return granted, nil
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	defer m.leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	n, err := release.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

// grace is what a request that is on its way when the wait ends has left for its
// answer: without one nobody knows whether the lock was granted.
const grace = 200 * time.Millisecond

// answered is ctx for one request: the end of the wait does not cut it off.
func answered(ctx context.Context) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	longer, cancel := context.WithDeadline(context.WithoutCancel(ctx), until.Add(grace))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}
