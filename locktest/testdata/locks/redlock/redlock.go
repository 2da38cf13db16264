// Package redlock is the algorithm of Redis' documentation for several servers
// that know nothing of each other ("The Redlock Algorithm"): a majority of them,
// a validity that shrinks while the lock is taken, and a random delay between two
// rounds.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("no majority of the servers granted the lock")
	ErrNotHeld = errors.New("no majority of the servers has the lock")
	ErrUnclear = errors.New("too few of the servers answered")
)

const (
	// Delay is the longest delay between two rounds.
	Delay = 300 * time.Millisecond
	// Request bounds a request to one server; it is small beside a lease.
	Request = 100 * time.Millisecond
	// undone bounds a release.
	undone = 800 * time.Millisecond
)

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// Mutex is one owner's view of a lock. Its clients must not send a command twice.
type Mutex struct {
	Servers []*redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string // a defect for tests; a right lock has none

	value string
	until time.Time
}

func (m *Mutex) quorum() int {
	switch m.Mistake {
	case "half":
		return len(m.Servers) / 2
	case "one-is-enough":
		return 1
	case "all":
		return len(m.Servers)
	}
	return len(m.Servers)/2 + 1
}

// drift is what the clocks of the servers and of this process may differ by
// during a lease.
func (m *Mutex) drift() time.Duration {
	if m.Mistake == "no-drift" {
		return 0
	}
	return m.Lease/100 + 2*time.Millisecond
}

// Until is when the present hold is no longer valid.
func (m *Mutex) Until() time.Time { return m.until }

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	doubtful := false // a majority may have granted a round that nobody knows of
	for {
		m.value = fmt.Sprintf("%016x%016x", m.Rand.Uint64(), m.Rand.Uint64())
		start := time.Now()
		granted := m.on(ctx, m.Servers, m.deadline(Request), m.acquire)
		if m.Mistake == "validity-from-last-reply" {
			start = time.Now()
		}
		m.until = start.Add(m.Lease - m.drift())
		if len(granted.yes) >= m.quorum() && (time.Now().Before(m.until) || m.Mistake == "no-validity") {
			return nil
		}
		undone := m.undo(ctx, granted)
		doubtful = doubtful || len(m.Servers)-len(undone.yes)-len(undone.no) >= m.quorum()
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("lock %s: %w", m.Name, ctx.Err())
			}
			if doubtful || len(granted.no)+len(granted.yes) < m.quorum() {
				return fmt.Errorf("lock %s: %w", m.Name, ErrUnclear)
			}
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Delay/3 + time.Duration(m.Rand.Int64N(int64(Delay*2/3)))):
		}
	}
}

func (m *Mutex) deadline(d time.Duration) time.Duration {
	switch m.Mistake {
	case "patient", "no-validity", "validity-from-last-reply":
		return time.Minute
	}
	return d
}

func (m *Mutex) acquire(ctx context.Context, rdb *redis.Client) (bool, error) {
	ok, err := rdb.SetNX(ctx, m.Name, m.value, m.Lease).Result()
	if err != nil && m.Mistake == "error-is-yes" {
		return true, nil
	}
	return ok, err
}

// undo gives back what a round that failed may have got, on all servers.
func (m *Mutex) undo(ctx context.Context, granted answers) answers {
	on := m.Servers
	switch m.Mistake {
	case "no-undo":
		return granted
	case "undo-of-yes":
		on = granted.yes
	case "undo-on-first":
		on = m.Servers[:1]
	}
	return m.on(context.WithoutCancel(ctx), on, undone, m.release)
}

func (m *Mutex) release(ctx context.Context, rdb *redis.Client) (bool, error) {
	if m.Mistake == "plain-delete" {
		n, err := rdb.Del(ctx, m.Name).Result()
		return n == 1, err
	}
	n, err := release.Run(ctx, rdb, []string{m.Name}, m.value).Int()
	return n == 1, err
}

// Unlock gives the lock back on all servers, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	on := m.Servers
	switch m.Mistake {
	case "release-on-minority":
		on = m.Servers[:2]
	case "release-on-quorum":
		on = m.Servers[:m.quorum()]
	}
	deleted := m.on(context.WithoutCancel(ctx), on, undone, m.release)
	switch {
	case m.Mistake == "release-on-minority", m.Mistake == "release-on-quorum", m.Mistake == "swallowed-release":
		return nil
	case len(deleted.yes) >= m.quorum():
		return nil
	case len(deleted.no) > len(m.Servers)-m.quorum():
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return fmt.Errorf("unlock %s: %w", m.Name, ErrUnclear)
}

// answers are what servers said to a request; those that said nothing are in neither.
type answers struct{ yes, no []*redis.Client }

// on sends a request to servers at once, and waits for all answers, but not for
// longer than within.
func (m *Mutex) on(ctx context.Context, servers []*redis.Client, within time.Duration, request func(context.Context, *redis.Client) (bool, error)) answers {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	type answer struct {
		yes bool
		err error
	}
	said := make([]chan answer, len(servers))
	for i, rdb := range servers {
		said[i] = make(chan answer, 1)
		go func() {
			yes, err := request(ctx, rdb)
			said[i] <- answer{yes, err}
		}()
	}
	var all answers
	for i, rdb := range servers {
		switch a := <-said[i]; {
		case a.err != nil:
		case a.yes:
			all.yes = append(all.yes, rdb)
		default:
			all.no = append(all.no, rdb)
		}
	}
	return all
}
