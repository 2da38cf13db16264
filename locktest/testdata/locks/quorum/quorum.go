// Package quorum is a lock on a majority of three servers that its holder renews:
// Redlock's "Making the algorithm more reliable: extending the lock".
package quorum

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
	ErrTaken   = errors.New("no majority of the servers granted the lock")
	ErrLost    = errors.New("a majority of the servers does not have the lock any more")
	ErrUnclear = errors.New("too few of the servers answered")
)

const (
	// Delay is the longest delay between two rounds.
	Delay = 250 * time.Millisecond
	// request bounds a request to one server.
	request = 400 * time.Millisecond
)

// The scripts know a request that was sent twice by its value.
var (
	acquire = redis.NewScript(`
		local is = redis.call("get", KEYS[1])
		if is and is ~= ARGV[1] then return 0 end
		redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
		return 1`)
	extend  = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
	release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
)

// Mutex is one owner's view of a lock. Its clients may send a command twice.
type Mutex struct {
	Servers []redis.UniversalClient
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	mu   sync.Mutex
	hold *hold
}

type hold struct {
	value string
	lost  chan struct{}
	stop  context.CancelFunc
	ended chan struct{}
}

func (m *Mutex) quorum() int {
	if m.Mistake == "half" {
		return len(m.Servers) / 2
	}
	return len(m.Servers)/2 + 1
}

// valid is how long a hold of which the servers were asked at a time can be
// relied on: the lease, less what clocks may differ by and a margin to stop in.
func (m *Mutex) valid(asked time.Time) time.Time {
	if m.Mistake == "no-drift" {
		return asked.Add(m.Lease)
	}
	return asked.Add(m.Lease - m.Lease/100 - 2*time.Millisecond - m.Lease/20)
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	doubtful := false // a majority may have granted a round that nobody knows of
	for {
		value := fmt.Sprintf("%016x", m.Rand.Uint64())
		asked := time.Now()
		yes, no := m.ask(ctx, m.Servers, request, acquire, value, m.Lease.Milliseconds())
		enough := m.quorum()
		if m.Mistake == "of-those-that-answer" {
			enough = (yes+no)/2 + 1
		}
		if yes >= enough && time.Now().Before(m.valid(asked)) {
			m.start(value, m.valid(asked))
			return nil
		}
		if m.Mistake != "no-undo" {
			yes, no := m.ask(context.WithoutCancel(ctx), m.Servers, request, release, value)
			doubtful = doubtful || len(m.Servers)-yes-no >= m.quorum()
		}
		select {
		case <-ctx.Done():
			switch {
			case errors.Is(ctx.Err(), context.Canceled):
				return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
			case doubtful, yes+no < m.quorum():
				return fmt.Errorf("lock %s: %w", m.Name, ErrUnclear)
			}
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Delay/5 + time.Duration(m.Rand.Int64N(int64(Delay*4/5)))):
		}
	}
}

// start begins to renew a hold.
func (m *Mutex) start(value string, until time.Time) {
	ctx, stop := context.WithCancel(context.Background())
	h := &hold{value, make(chan struct{}), stop, make(chan struct{})}
	m.mu.Lock()
	m.hold = h
	m.mu.Unlock()
	go func() {
		defer close(h.ended)
		if m.renew(ctx, h, until) && m.Mistake != "silent-loss" {
			close(h.lost)
		}
	}()
}

// renew renews a hold until ctx ends. It returns early, with true, when too few
// of the servers have it, or none can be relied on.
func (m *Mutex) renew(ctx context.Context, h *hold, until time.Time) (lost bool) {
	on, enough := m.Servers, m.quorum()
	switch m.Mistake {
	case "renews-on-one":
		on, enough = m.Servers[:1], 1
	case "one-renewal-is-enough":
		enough = 1
	case "all-renewals-or-lost":
		enough = len(m.Servers)
	}
	next := m.Lease / 3
	for {
		left := time.Until(until)
		if left <= 0 && m.Mistake != "no-deadline" {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(next, max(left, next/8))):
		}
		asked := time.Now()
		yes, no := m.ask(ctx, on, min(request, until.Sub(asked)), extend, h.value, m.Lease.Milliseconds())
		switch {
		case ctx.Err() != nil:
			return false
		case yes >= enough, m.Mistake == "result-ignored":
			until, next = m.valid(asked), m.Lease/3
		case no > len(m.Servers)-enough, m.Mistake == "one-failure-is-loss":
			return true
		default:
			next = m.Lease / 20
		}
	}
}

// Lost is closed when the present hold is lost.
func (m *Mutex) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold.lost
}

// Unlock gives the lock back on all servers, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	m.mu.Lock()
	h := m.hold
	m.mu.Unlock()
	h.stop()
	<-h.ended
	on := m.Servers
	if m.Mistake == "release-on-one" {
		on = m.Servers[:1]
	}
	yes, no := m.ask(context.WithoutCancel(ctx), on, request, release, h.value)
	switch {
	case m.Mistake == "release-on-one", m.Mistake == "lost-is-success", yes >= m.quorum():
		return nil
	case no >= m.quorum(): // too few had it to keep others out
		return fmt.Errorf("unlock %s: %w", m.Name, ErrLost)
	}
	return fmt.Errorf("unlock %s: %w", m.Name, ErrUnclear)
}

// ask runs a script on servers at once, and counts their answers. It does not wait
// for those that take longer than within.
func (m *Mutex) ask(ctx context.Context, servers []redis.UniversalClient, within time.Duration, script *redis.Script, args ...any) (yes, no int) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := make(chan int, len(servers))
	for _, rdb := range servers {
		go func() {
			n, err := script.Run(ctx, rdb, []string{m.Name}, args...).Int()
			if err != nil {
				n = -1
			}
			said <- n
		}()
	}
	for range servers {
		select {
		case n := <-said:
			switch n {
			case 1:
				yes++
			case 0:
				no++
			}
		case <-ctx.Done():
			return yes, no
		}
	}
	return yes, no
}
