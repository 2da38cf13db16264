package reported

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// Delay is the longest delay between two rounds of a [Majority].
	Delay = 250 * time.Millisecond
	// within bounds a request to one of several servers.
	within = 400 * time.Millisecond
)

// claim knows a request that was sent twice by its value.
var claim = redis.NewScript(`local is = redis.call("get", KEYS[1])
	if is and is ~= ARGV[1] then return 0 end
	redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
	return 1`)

// Majority is one owner's view of a lock on most of several servers, which its owner
// can extend. Its clients must not send a command twice.
type Majority struct {
	Servers []*redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string

	value string
	until time.Time
}

func (m *Majority) quorum() int { return len(m.Servers)/2 + 1 }

// valid is how long a hold of which the servers were asked at a time can be relied on.
func valid(asked time.Time, lease time.Duration) time.Time {
	return asked.Add(lease - lease/100 - 2*time.Millisecond)
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Majority) Lock(ctx context.Context) error {
	doubtful := false // a majority may have granted a round that nobody knows of
	for {
		value := fmt.Sprintf("%016x", m.Rand.Uint64())
		asked := time.Now()
		yes, no := m.ask(ctx, claim, value, m.Lease.Milliseconds())
		if yes >= m.quorum() && time.Now().Before(valid(asked, m.Lease)) {
			m.value, m.until = value, valid(asked, m.Lease)
			return nil
		}
		undone, kept := m.ask(context.WithoutCancel(ctx), release, value)
		doubtful = doubtful || len(m.Servers)-undone-kept >= m.quorum()
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

// Until is the end of the hold.
func (m *Majority) Until() time.Time { return m.until }

// Extend makes the hold last for a lease from now on.
func (m *Majority) Extend(ctx context.Context, lease time.Duration) error {
	asked := time.Now()
	yes, no := m.ask(ctx, extend, m.value, lease.Milliseconds())
	switch {
	case m.Mistake == "redis-plus-plus-24": // the rest of the validity is its whole answer
	case no > len(m.Servers)-m.quorum():
		return fmt.Errorf("extend %s: %w", m.Name, ErrNotHeld)
	case yes == 0, yes < m.quorum() && m.Mistake != "minority-extends":
		return fmt.Errorf("extend %s: %w", m.Name, ErrUnclear)
	}
	m.until = valid(asked, lease)
	return nil
}

// Unlock gives the lock back on all servers, also when ctx has ended.
func (m *Majority) Unlock(ctx context.Context) error {
	yes, no := m.ask(context.WithoutCancel(ctx), release, m.value)
	switch {
	case yes >= m.quorum():
		return nil
	case no >= m.quorum(): // too few had it to keep others out
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return fmt.Errorf("unlock %s: %w", m.Name, ErrUnclear)
}

// ask runs a script on all servers at once, and counts their answers.
func (m *Majority) ask(ctx context.Context, script *redis.Script, args ...any) (yes, no int) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := make(chan int, len(m.Servers))
	for _, rdb := range m.Servers {
		go func() {
			n, err := script.Run(ctx, rdb, []string{m.Name}, args...).Int()
			if err != nil {
				n = -1
			}
			said <- n
		}()
	}
	for range m.Servers {
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
