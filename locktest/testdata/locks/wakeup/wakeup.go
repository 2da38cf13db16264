// Package wakeup is a lock whose waiters sleep until they are told: SET NX PX, and
// a release that publishes on a channel of the lock. The waiters of a process
// share one subscription to it. Messages get lost, so a waiter looks by itself now
// and then as well.
package wakeup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

// SafetyPoll is how long a waiter sleeps at most, unless told otherwise.
const SafetyPoll = time.Second

// Channel is where the releases of a lock are published.
func Channel(name string) string { return "released:" + name }

var (
	release = redis.NewScript(`
		if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call("del", KEYS[1])
		redis.call("publish", ARGV[2], "1")
		return 1`)
	releaseInSilence = redis.NewScript(`
		if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call("del", KEYS[1])
		return 1`)
	releaseUnchecked = redis.NewScript(`
		redis.call("del", KEYS[1])
		redis.call("publish", ARGV[2], "1")
		return 1`)
)

// Client is what the locks of one process share. Its client must not send a
// command twice.
type Client struct {
	Redis   *redis.Client
	Lease   time.Duration
	Poll    time.Duration // how long a waiter sleeps at most
	Mistake string        // a defect for tests; a right lock has none

	mu       sync.Mutex
	channels map[string]*channel
}

// channel is a subscription that all waiters of a lock in this process share.
type channel struct {
	waiters int
	ready   chan struct{} // closed when the server has confirmed it, or it failed
	stop    chan struct{} // closed when nobody needs it any more

	mu     sync.Mutex
	told   chan struct{} // closed at the next message, and at the end of the subscription
	failed bool
	line   []chan struct{} // of a lock that tells one waiter: who waits, the first one first
}

// Mutex is one owner's view of a lock.
type Mutex struct {
	c     *Client
	name  string
	rand  *rand.Rand
	value string
}

// NewMutex makes one owner's view of the lock with a name.
func (c *Client) NewMutex(name string, rand *rand.Rand) *Mutex {
	return &Mutex{c: c, name: name, rand: rand}
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	m.value = fmt.Sprintf("%016x", m.rand.Uint64())
	if ok, err := m.try(ctx); ok || err != nil {
		return err
	}
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("lock %s: %w", m.name, ErrTaken)
		}
		ok, err := m.wait(ctx)
		if ok || err != nil {
			return err
		}
	}
}

// wait subscribes, and tries again after each message. It returns without the
// lock when the subscription or the wait is over.
func (m *Mutex) wait(ctx context.Context) (bool, error) {
	ch := m.c.join(m.name)
	defer m.c.leave(m.name, ch)
	select {
	case <-ch.ready:
	case <-ctx.Done():
		return false, nil
	}
	tried := m.c.Mistake == "sleeps-at-once"
	for {
		told, failed := ch.next()
		var place chan struct{}
		if m.c.Mistake == "tells-who-left" {
			place = ch.queue()
			told = place
		}
		if !tried {
			if ok, err := m.try(ctx); ok || err != nil {
				ch.unqueue(place)
				return ok, err
			}
		}
		tried = false
		left, err := m.sleep(ctx)
		if err != nil {
			return false, m.end(ctx, err)
		}
		switch m.c.Mistake {
		case "hot-loop":
			left = time.Millisecond
		case "looks-only":
			told = nil
		}
		select {
		case <-told:
			if m.c.Mistake == "message-is-grant" {
				return true, nil
			}
			tried = m.c.Mistake == "message-unheeded"
			ch.unqueue(place)
		case <-ctx.Done():
			return false, nil
		case <-time.After(left):
			ch.unqueue(place)
		}
		if failed && m.c.Mistake != "poisoned" {
			return false, nil
		}
	}
}

// sleep is how long the waiter may sleep when no message comes.
func (m *Mutex) sleep(ctx context.Context) (time.Duration, error) {
	switch m.c.Mistake {
	case "messages-alone":
		return 10 * time.Minute, nil
	case "sleeps-at-once", "message-unheeded":
		return m.c.Poll, nil
	}
	request, done := answered(ctx)
	defer done()
	left, err := m.c.Redis.PTTL(request, m.name).Result()
	if err != nil {
		return 0, err
	}
	if m.c.Mistake == "sleeps-for-the-lease" {
		return max(left, 10*time.Millisecond), nil
	}
	if m.c.Mistake == "looks-only" {
		return SafetyPoll, nil
	}
	if left < 0 { // it has just become free
		left = 10 * time.Millisecond
	}
	return min(left+time.Millisecond, m.c.Poll), nil
}

func (m *Mutex) try(ctx context.Context) (bool, error) {
	sent := time.Now()
	request, done := answered(ctx)
	defer done()
	ok, err := m.c.Redis.SetNX(request, m.name, m.value, m.c.Lease).Result()
	if ok && time.Since(sent) >= m.c.Lease {
		return false, fmt.Errorf("lock %s: the lease was over before it was told: %w", m.name, ErrUnclear)
	}
	return ok, m.end(ctx, err)
}

// end is how an acquire ends with an error.
func (m *Mutex) end(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		err = ctx.Err()
	default:
		err = fmt.Errorf("%w: %v", ErrUnclear, err)
	}
	return fmt.Errorf("lock %s: %w", m.name, err)
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.c.Lease)
	defer cancel()
	channel := Channel(m.name)
	script := release
	switch m.c.Mistake {
	case "wrong-channel":
		channel = m.name
	case "not-published":
		script = releaseInSilence
	case "release-unchecked":
		script = releaseUnchecked
	case "published-before":
		if err := m.c.Redis.Publish(ctx, channel, "1").Err(); err != nil {
			return fmt.Errorf("unlock %s: %w", m.name, err)
		}
		script = releaseInSilence
	}
	n, err := script.Run(ctx, m.c.Redis, []string{m.name}, m.value, channel).Int()
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.name, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.name, ErrNotHeld)
	}
	return nil
}

// join is the subscription to a lock's releases; whoever joins it leaves it.
func (c *Client) join(name string) *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channels[name]
	if ch == nil {
		ch = &channel{ready: make(chan struct{}), stop: make(chan struct{}), told: make(chan struct{})}
		if c.channels == nil {
			c.channels = map[string]*channel{}
		}
		c.channels[name] = ch
		go c.listen(name, ch)
	}
	ch.waiters++
	return ch
}

func (c *Client) leave(name string, ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.waiters--
	if ch.waiters > 0 || c.Mistake == "never-unsubscribes" {
		return
	}
	close(ch.stop)
	if _, failed := ch.next(); !failed || c.Mistake != "poisoned" {
		c.forget(name, ch)
	}
}

// forget makes the next waiter subscribe anew. c.mu is held.
func (c *Client) forget(name string, ch *channel) {
	if c.channels[name] == ch {
		delete(c.channels, name)
	}
}

// receive is how long one wait for a message lasts: only who receives closes the
// connection, and looks so often whether to.
const receive = 100 * time.Millisecond

// listen receives the messages of a channel until it fails or nobody needs it.
func (c *Client) listen(name string, ch *channel) {
	ctx := context.Background()
	sub := c.Redis.Subscribe(ctx)
	defer sub.Close()
	confirmed := sync.OnceFunc(func() { close(ch.ready) })
	defer func() {
		ch.tell(true)
		if c.Mistake != "poisoned" {
			c.mu.Lock()
			c.forget(name, ch)
			c.mu.Unlock()
		}
		confirmed()
	}()
	if err := sub.Subscribe(ctx, Channel(name)); err != nil {
		return
	}
	asked := time.Now()
	for {
		select {
		case <-ch.stop:
			return
		default:
		}
		got, err := sub.ReceiveTimeout(ctx, receive)
		var timeout interface{ Timeout() bool }
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && (isClosed(ch.ready) || time.Since(asked) < c.Lease):
			continue
		case err != nil:
			return
		}
		switch got.(type) {
		case *redis.Subscription:
			confirmed()
		case *redis.Message:
			ch.tell(false)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// next is closed at the next message; failed says that there will be none.
func (ch *channel) next() (told <-chan struct{}, failed bool) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.told, ch.failed
}

// queue is a place in the line, which is closed at the message for it.
func (ch *channel) queue() chan struct{} {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	place := make(chan struct{})
	ch.line = append(ch.line, place)
	return place
}

func (ch *channel) unqueue(place chan struct{}) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.line = slices.DeleteFunc(ch.line, func(p chan struct{}) bool { return p == place })
}

func (ch *channel) tell(last bool) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if len(ch.line) > 0 {
		close(ch.line[0])
		ch.line = ch.line[1:]
	}
	close(ch.told)
	ch.told, ch.failed = make(chan struct{}), last
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
