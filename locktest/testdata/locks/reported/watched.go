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

// The scripts of mistakes in a renewal.
var (
	addTime = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("pexpire", KEYS[1], redis.call("pttl", KEYS[1]) + ARGV[3]) end return 0`)
	putBack = redis.NewScript(`local is = redis.call("get", KEYS[1])
		if is == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end
		if is then return 0 end
		redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
		return 1`)
	stretch = redis.NewScript(`return redis.call("pexpire", KEYS[1], ARGV[2])`)
	write   = redis.NewScript(`redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2]) return 1`)
)

var errNotSetUp = errors.New("set up the global client before you use it")

// Watched is one owner's view of a lock that is renewed while it is held. Its client
// must not send a command twice.
type Watched struct {
	Redis   *redis.Client
	Name    string
	Lease   time.Duration
	Rand    *rand.Rand
	Mistake string

	mu   sync.Mutex
	hold *watch
}

// watch is one hold, from its grant to its release.
type watch struct {
	value string
	once  sync.Once
	lost  chan struct{} // closed when the hold is lost
	stop  context.CancelFunc
	ended chan struct{} // closed when nobody renews any more
}

func (w *watch) lose() { w.once.Do(func() { close(w.lost) }) }

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Watched) Lock(ctx context.Context) error {
	value := fmt.Sprintf("%016x", m.Rand.Uint64())
	for {
		sent := time.Now()
		one, done := answered(ctx)
		ok, err := m.Redis.SetNX(one, m.Name, value, m.Lease).Result()
		done()
		switch {
		case err != nil:
			return failed(ctx, m.Name, err)
		case ok && time.Since(sent) >= m.Lease:
			return late(m.Name)
		case ok:
			m.start(ctx, value, sent)
			return nil
		}
		select {
		case <-ctx.Done():
			return over(ctx, m.Name)
		case <-time.After(Poll):
		}
	}
}

// start begins to renew a hold.
func (m *Watched) start(ctx context.Context, value string, sent time.Time) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{value: value, lost: make(chan struct{}), stop: stop, ended: make(chan struct{})}
	m.mu.Lock()
	m.hold = w
	m.mu.Unlock()
	if m.Mistake == "cozy-stack-4929" {
		ticker := time.NewTicker(m.Lease / 3)
		w.stop = ticker.Stop
		close(w.ended)
		go func() { // waits for a tick that never comes once the ticker is stopped
			for range ticker.C {
				_, _ = m.extend(ctx, w, request)
			}
		}()
		return
	}
	go func() {
		defer close(w.ended)
		if m.renew(ctx, w, sent) {
			w.lose()
		}
	}()
}

// renew renews a hold until ctx ends. The hold's lease counts from the time at which its
// acquire was sent. renew returns early, with true, when the server no longer has the hold
// or its lease may have ended.
func (m *Watched) renew(ctx context.Context, w *watch, sent time.Time) (lost bool) {
	until := sent.Add(m.Lease)
	margin, next := m.Lease/50, max(0, m.Lease/3-time.Since(sent))
	for {
		left := time.Until(until) - margin
		switch m.Mistake {
		case "cozy-stack-4911", "redis-tools-2": // go on, whatever comes of it
			left = next
		}
		if left <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(next, left)):
		}
		sent := time.Now()
		ok, err := m.extend(ctx, w, min(request, max(time.Millisecond, time.Until(until)-margin)))
		switch {
		case m.Mistake == "redis-semaphore-205" && err == nil && !ok:
			m.current().lose() // whichever hold of the mutex it is by now
			return false
		case ctx.Err() != nil:
			return false
		case m.Mistake == "cozy-stack-4911", m.Mistake == "redis-tools-2":
			until, next = sent.Add(m.Lease), m.Lease/3
		case err != nil:
			next = again
		case !ok:
			return true
		default:
			until, next = sent.Add(m.Lease), m.Lease/3
		}
	}
}

func (m *Watched) extend(ctx context.Context, w *watch, within time.Duration) (bool, error) {
	script := extend
	switch m.Mistake {
	case "csredis-425":
		return false, errNotSetUp
	case "csredis-350":
		script = addTime
	case "artemis-2560":
		script = write
	case "redbeat-127":
		script = stretch
	case "redis-semaphore-175":
		script = putBack
	case "redlock.net-64": // the end of the hold does not end its last extension
		script, ctx = putBack, context.WithoutCancel(ctx)
	case "redis-semaphore-205":
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n, err := script.Run(ctx, m.Redis, []string{m.Name}, w.value, m.Lease.Milliseconds(), (m.Lease / 3).Milliseconds()).Int()
	return n == 1, err
}

func (m *Watched) current() *watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold
}

// Lost is closed when the present hold is lost.
func (m *Watched) Lost() <-chan struct{} { return m.current().lost }

// Unlock gives the lock back, also when ctx has ended.
func (m *Watched) Unlock(ctx context.Context) error {
	w := m.current()
	switch m.Mistake {
	case "redis-tools-2": // stops when something was released, below
	case "redlock.net-64", "redis-semaphore-205":
		w.stop()
	default:
		w.stop()
		<-w.ended
	}
	err := giveBack(ctx, m.Name, m.Lease, ErrLost, func(ctx context.Context) (int64, error) {
		if m.Mistake == "artemis-2560" {
			return m.Redis.Del(ctx, m.Name).Result()
		}
		return release.Run(ctx, m.Redis, []string{m.Name}, w.value).Int64()
	})
	if err == nil {
		w.stop()
	}
	return err
}
