// Package watchdog is the lock of Redis' documentation with what its last section
// proposes: a holder extends its lease while it works, and is told when that
// fails for too long.
package watchdog

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
	ErrUnclear = errors.New("the server may have granted the lock, or taken it back")
	ErrLost    = errors.New("the lock was lost")
)

const (
	// Poll is the time between two looks of a waiter.
	Poll = 80 * time.Millisecond
	// again is the time between two tries of a renewal or a release that failed.
	again = 200 * time.Millisecond
	// request bounds one request.
	request = time.Second
)

var (
	release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	extend  = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
	add     = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("pexpire", KEYS[1], redis.call("pttl", KEYS[1]) + ARGV[2]) end return 0`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none
	Process *Process

	mu   sync.Mutex
	hold *hold
}

// Process is what the owners of a process share in a lock that confuses them.
type Process struct {
	mu   sync.Mutex
	hold *hold // the latest one; the process renews it alone, or notifies its owner alone
}

// granted notes the latest hold of the process, and returns the one before; nil if there
// was none.
func (p *Process) granted(h *hold) (before *hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.hold = p.hold, h
	return before
}

// last reports whether a hold is the latest of the process.
func (p *Process) last(h *hold) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hold == h
}

// hold is one hold, from its grant to its release.
type hold struct {
	value string
	lost  chan struct{} // closed when the hold is lost
	stop  context.CancelFunc
	ended chan struct{} // closed when nobody renews any more
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	value := fmt.Sprintf("%016x", m.Rand.Uint64())
	for {
		sent := time.Now()
		request, done := answered(ctx)
		ok, err := m.Redis.SetNX(request, m.Name, value, m.Lease).Result()
		done()
		if m.Mistake == "counted-from-reply" {
			sent = time.Now()
		}
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case ok && time.Since(sent) >= m.Lease && m.Mistake != "stale-grant":
			// The request may have come late, and still keep others out.
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case ok:
			m.start(ctx, value, sent)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

// start begins to renew a hold.
func (m *Mutex) start(ctx context.Context, value string, sent time.Time) {
	if m.Mistake != "acquires-context" {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	h := &hold{value, make(chan struct{}), stop, make(chan struct{})}
	m.mu.Lock()
	m.hold = h
	m.mu.Unlock()
	switch m.Mistake {
	case "one-timer-per-process":
		if before := m.Process.granted(h); before != nil {
			before.stop()
		}
	case "last-hold-is-told":
		m.Process.granted(h)
	}
	go func() {
		defer close(h.ended)
		if m.renew(ctx, h, sent.Add(m.Lease)) && m.notifies(h) {
			close(h.lost)
		}
	}()
}

// notifies reports whether the lock notifies the owner of a lost hold.
func (m *Mutex) notifies(h *hold) bool {
	switch m.Mistake {
	case "silent-loss":
		return false
	case "last-hold-is-told":
		return m.Process.last(h)
	}
	return true
}

// renew renews a hold until ctx ends. It returns early, with true, when the hold
// is lost: nobody has it on the server, or its lease may have ended.
func (m *Mutex) renew(ctx context.Context, h *hold, until time.Time) (lost bool) {
	margin, every := m.Lease/50, m.Lease/3
	if m.Mistake == "renewed-too-late" {
		every = m.Lease
	}
	next := every
	for n := 0; ; n++ {
		left := time.Until(until) - margin
		if m.Mistake == "no-deadline" {
			left = next
		}
		if left <= 0 {
			return true
		}
		if m.Mistake == "renewed-once" && n > 0 {
			next, left = time.Hour, time.Hour
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(next, left)):
		}
		sent := time.Now()
		ok, err := m.extend(ctx, h, min(request, max(time.Millisecond, time.Until(until)-margin)))
		if m.Mistake == "renewal-counted-from-reply" {
			sent = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return false
		case m.Mistake == "result-ignored":
			until, next = sent.Add(m.Lease), every
		case err != nil && m.Mistake == "one-failure-is-loss":
			return true
		case err != nil && m.Mistake == "dies-of-one-error":
			<-ctx.Done()
			return false
		case err != nil:
			next = again
		case !ok && m.Mistake == "recreates":
			if err := m.Redis.Set(ctx, m.Name, h.value, m.Lease).Err(); err == nil {
				until = sent.Add(m.Lease)
			}
		case !ok:
			return true
		default:
			until, next = sent.Add(m.Lease), every
		}
	}
}

func (m *Mutex) extend(ctx context.Context, h *hold, within time.Duration) (bool, error) {
	if m.Mistake != "renewal-without-timeout" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	switch m.Mistake {
	case "unchecked-renewal":
		return m.Redis.PExpire(ctx, m.Name, m.Lease).Result()
	case "get-then-extend":
		v, err := m.Redis.Get(ctx, m.Name).Result()
		if errors.Is(err, redis.Nil) || err == nil && v != h.value {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return m.Redis.PExpire(ctx, m.Name, m.Lease).Result()
	case "adds-intervals":
		n, err := add.Run(ctx, m.Redis, []string{m.Name}, h.value, (m.Lease / 3).Milliseconds()).Int()
		return n == 1, err
	case "renewed-in-seconds":
		n, err := extend.Run(ctx, m.Redis, []string{m.Name}, h.value, int(m.Lease.Seconds())).Int()
		return n == 1, err
	}
	n, err := extend.Run(ctx, m.Redis, []string{m.Name}, h.value, m.Lease.Milliseconds()).Int()
	return n == 1, err
}

// Lost is closed when the present hold is lost.
func (m *Mutex) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold.lost
}

// Unlock gives the lock back, also when ctx has ended. It asks until it has an
// answer, or the lease is over. An answer to a second try does not say whether the
// first one was carried out.
func (m *Mutex) Unlock(ctx context.Context) error {
	m.mu.Lock()
	h := m.hold
	m.mu.Unlock()
	if m.Mistake != "renews-after-failed-release" {
		h.stop()
		<-h.ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	var first error
	for {
		n, err := m.released(ctx, h)
		switch {
		case err == nil && n == 1:
			h.stop()
			return nil
		case err == nil && first != nil:
			return fmt.Errorf("unlock %s: asked twice: %w: %w", m.Name, ErrUnclear, first)
		case err != nil && m.Mistake == "swallowed-release":
			return nil
		case err == nil:
			return fmt.Errorf("unlock %s: %w", m.Name, ErrLost)
		case first == nil:
			first = err
		}
		if m.Mistake == "renews-after-failed-release" {
			return fmt.Errorf("unlock %s: %w", m.Name, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("unlock %s: %w: %w", m.Name, ErrUnclear, first)
		case <-time.After(again):
		}
	}
}

func (m *Mutex) released(ctx context.Context, h *hold) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	return release.Run(ctx, m.Redis, []string{m.Name}, h.value).Int64()
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
