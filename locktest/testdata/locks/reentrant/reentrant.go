// Package reentrant is a lock that its owner can take again: a hash with the
// owner and the number of its holds, changed by scripts. Each request names the
// number that is to be, so that one that is carried out twice does no harm. Holds
// without a lease of their own are renewed.
package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrUnclear = errors.New("the server may have granted the lock, or taken it back")
	ErrNotHeld = errors.New("the lock is not held")
	ErrLost    = errors.New("the lock was lost")
)

const (
	// Poll is the time between two looks of a waiter.
	Poll = 60 * time.Millisecond
	// again is the time between two tries of a request that failed.
	again = 250 * time.Millisecond
	// request bounds one request.
	request = time.Second
)

// The scripts. An expiry is only ever made longer, as an outer hold may be owed more.
var (
	acquire = redis.NewScript(`
		if redis.call("exists", KEYS[1]) == 1 then
			if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		elseif ARGV[2] ~= "1" then
			return -1
		end
		redis.call("hset", KEYS[1], ARGV[1], ARGV[2])
		if redis.call("pttl", KEYS[1]) < tonumber(ARGV[3]) then redis.call("pexpire", KEYS[1], ARGV[3]) end
		return 1`)
	shortening = redis.NewScript(`
		if redis.call("exists", KEYS[1]) == 1 then
			if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		elseif ARGV[2] ~= "1" then
			return -1
		end
		redis.call("hset", KEYS[1], ARGV[1], ARGV[2])
		redis.call("pexpire", KEYS[1], ARGV[3])
		return 1`)
	anybodys = redis.NewScript(`
		redis.call("hset", KEYS[1], ARGV[1], ARGV[2])
		redis.call("pexpire", KEYS[1], ARGV[3])
		return 1`)
	relative = redis.NewScript(`
		if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		redis.call("hincrby", KEYS[1], ARGV[1], 1)
		if redis.call("pttl", KEYS[1]) < tonumber(ARGV[3]) then redis.call("pexpire", KEYS[1], ARGV[3]) end
		return 1`)
	release = redis.NewScript(`
		if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		if ARGV[2] == "0" then redis.call("del", KEYS[1]) else redis.call("hset", KEYS[1], ARGV[1], ARGV[2]) end
		return 1`)
	renewing = redis.NewScript(`
		if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		if ARGV[2] == "0" then redis.call("del", KEYS[1]) else
			redis.call("hset", KEYS[1], ARGV[1], ARGV[2])
			redis.call("pexpire", KEYS[1], ARGV[3])
		end
		return 1`)
	lowering = redis.NewScript(`
		if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		if redis.call("hincrby", KEYS[1], ARGV[1], -1) <= 0 then redis.call("del", KEYS[1]) end
		return 1`)
	unchecked = redis.NewScript(`redis.call("del", KEYS[1]) return 1`)
	extend    = redis.NewScript(`
		if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		if redis.call("pttl", KEYS[1]) < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
		return 1`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis       *redis.Client
	Name, Owner string
	Lease       time.Duration // of holds that are renewed
	Mistake     string        // a defect for tests; a right lock has none

	times int // the lock was taken anew

	mu    sync.Mutex
	holds []bool    // the present ones, by whether they are renewed
	until time.Time // the server keeps them
	lost  chan struct{}
	stop  context.CancelFunc
	ended chan struct{} // closed when nobody renews any more
}

// field is what stands for the owner: it is different each time the lock is taken
// anew, so that a request that arrives late finds nothing to change.
func (m *Mutex) field() string {
	switch m.Mistake {
	case "one-field":
		return m.Owner
	case "threads-share": // what comes before the last colon is the process
		return m.Owner[:strings.LastIndex(m.Owner, ":")] + ":process"
	}
	return fmt.Sprintf("%s#%d", m.Owner, m.times)
}

// Lock takes the lock with a lease that is renewed, and waits for it until ctx
// ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error { return m.lock(ctx, m.Lease, true) }

// LockFor takes the lock with a lease of its own.
func (m *Mutex) LockFor(ctx context.Context, lease time.Duration) error {
	if m.Mistake == "own-lease-ignored" {
		lease = m.Lease
	}
	return m.lock(ctx, lease, m.Mistake == "own-lease-renewed")
}

func (m *Mutex) lock(ctx context.Context, lease time.Duration, renewed bool) error {
	m.mu.Lock()
	held := len(m.holds)
	m.mu.Unlock()
	if held == 0 {
		m.times++
	}
	for {
		sent := time.Now()
		got, err := m.acquire(ctx, held+1, lease)
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
		case err != nil:
			return fmt.Errorf("lock %s: %w: %v", m.Name, ErrUnclear, err)
		case got == 1 && held == 0 && time.Since(sent) >= lease && m.Mistake != "stale-grant":
			// The request may have come late, and still keep others out.
			return fmt.Errorf("lock %s: %w: the lease was over before it was told", m.Name, ErrUnclear)
		case got == 1 && (held == 0 || m.holdsUntil(sent.Add(lease)) || m.Mistake == "loss-unnoticed"):
			m.granted(sent, lease, renewed)
			return nil
		case held > 0 && m.Mistake != "loss-unnoticed":
			m.lose()
			return fmt.Errorf("lock %s: %w", m.Name, ErrLost)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

func (m *Mutex) acquire(ctx context.Context, count int, lease time.Duration) (int, error) {
	script := acquire
	switch m.Mistake {
	case "inner-shortens":
		script = shortening
	case "anybody-enters":
		script = anybodys
	case "relative-count":
		script = relative
	}
	return script.Run(ctx, m.Redis, []string{m.Name}, m.field(), count, lease.Milliseconds()).Int()
}

// holdsUntil reports whether the holds last, with one that may last until end.
func (m *Mutex) holdsUntil(end time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(end) || time.Now().Before(m.until)
}

// granted notes a hold, and begins to renew the first that is to be.
func (m *Mutex) granted(sent time.Time, lease time.Duration, renewed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.holds) == 0 {
		m.until, m.lost = time.Time{}, make(chan struct{})
	}
	m.holds = append(m.holds, renewed)
	if end := sent.Add(lease); end.After(m.until) {
		m.until = end
	}
	if len(m.holds) > 1 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.ended = stop, make(chan struct{})
	go m.watch(ctx, m.field(), m.ended)
}

// lose tells that the present holds are lost.
func (m *Mutex) lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.lost:
	default:
		close(m.lost)
	}
}

// watch renews the holds until ctx ends, or they are lost.
func (m *Mutex) watch(ctx context.Context, field string, ended chan struct{}) {
	defer close(ended)
	margin, next := m.Lease/20, m.Lease/3
	for {
		m.mu.Lock()
		left := time.Until(m.until) - margin
		m.mu.Unlock()
		if left <= 0 {
			m.lose()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(next, left)):
		}
		m.mu.Lock()
		renewed := false
		for _, r := range m.holds {
			renewed = renewed || r
		}
		within := max(time.Millisecond, min(request, time.Until(m.until)-margin))
		m.mu.Unlock()
		if !renewed {
			next = m.Lease / 3
			continue
		}
		sent := time.Now()
		requested, cancel := context.WithTimeout(ctx, within)
		n, err := extend.Run(requested, m.Redis, []string{m.Name}, field, m.Lease.Milliseconds()).Int()
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			next = again
		case n == 0:
			m.lose()
			return
		default:
			next = m.Lease / 3
			m.mu.Lock()
			if end := sent.Add(m.Lease); end.After(m.until) {
				m.until = end
			}
			m.mu.Unlock()
		}
	}
}

// Lost is closed when the present holds are lost.
func (m *Mutex) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// Unlock gives the innermost hold back, also when ctx has ended. It asks until it
// has an answer, or the lease is over. After an inner hold of which nobody knows
// whether it was given back, it means that hold again.
func (m *Mutex) Unlock(ctx context.Context) error {
	m.mu.Lock()
	left := len(m.holds) - 1
	if left < 0 {
		m.mu.Unlock()
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	innermost := m.holds[left]
	m.holds = m.holds[:left]
	stop, ended := m.stop, m.ended
	m.mu.Unlock()
	if left == 0 || m.Mistake == "watchdog-stops-early" {
		stop()
		<-ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer cancel()
	var first error
	for {
		n, err := m.released(ctx, left)
		switch {
		case err == nil && n == 1:
			return nil
		case err == nil && first != nil:
			return fmt.Errorf("unlock %s: asked twice: %w: %w", m.Name, ErrUnclear, first)
		case err == nil:
			return fmt.Errorf("unlock %s: %w", m.Name, ErrLost)
		case m.Mistake == "swallowed-release":
			return nil
		case first == nil:
			first = err
		}
		select {
		case <-ctx.Done():
			if left > 0 {
				m.mu.Lock()
				m.holds = append(m.holds, innermost)
				m.mu.Unlock()
			}
			return fmt.Errorf("unlock %s: %w: %w", m.Name, ErrUnclear, first)
		case <-time.After(again):
		}
	}
}

func (m *Mutex) released(ctx context.Context, left int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	script := release
	switch m.Mistake {
	case "partial-release-renews":
		script = renewing
	case "relative-count":
		script = lowering
	case "release-unchecked":
		script = unchecked
	case "last-but-one":
		left = max(0, left-1)
	case "last-stays":
		left = max(1, left)
	}
	return script.Run(ctx, m.Redis, []string{m.Name}, m.field(), left, m.Lease.Milliseconds()).Int()
}
