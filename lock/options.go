package lock

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"
)

// Option changes a [Client].
type Option func(*config)

type config struct {
	id            string
	prefix        string
	lease         time.Duration // the watchdog's timeout
	acks          int
	acksTimeout   time.Duration
	fencing       fencing
	rand          *mathrand.Rand
	observer      Observer
	logger        *slog.Logger
	safetyPoll    time.Duration
	unlockTimeout time.Duration
}

func newConfig(opts []Option) (config, error) {
	c := config{
		lease:         30 * time.Second,
		safetyPoll:    time.Second,
		unlockTimeout: 5 * time.Second,
	}
	for _, opt := range opts {
		opt(&c)
	}
	switch {
	case c.lease < 10*time.Millisecond:
		return c, fmt.Errorf("lock: watchdog timeout %v is below 10ms", c.lease)
	case c.safetyPoll < time.Millisecond:
		return c, fmt.Errorf("lock: safety poll %v is below 1ms", c.safetyPoll)
	case c.unlockTimeout < time.Millisecond:
		return c, fmt.Errorf("lock: unlock timeout %v is below 1ms", c.unlockTimeout)
	case c.acks < 0:
		return c, fmt.Errorf("lock: %d replica acks", c.acks)
	case c.acks > 0 && c.acksTimeout < time.Millisecond:
		// WAIT takes 0 for no timeout at all.
		return c, fmt.Errorf("lock: replica acks timeout %v is below 1ms", c.acksTimeout)
	}
	if c.logger != nil {
		c.observer = logTo(c.logger, c.observer)
	}
	if c.id == "" {
		c.id = newID()
	}
	return c, nil
}

// newID returns a random UUID, which Redisson has in this place.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// WithWatchdogTimeout sets the lease of a hold that is taken without [Lease].
// The watchdog renews it three times per lease. At least 10ms.
// The default is 30s.
func WithWatchdogTimeout(d time.Duration) Option { return func(c *config) { c.lease = d } }

// WithReplicaAcks makes a hold count only when n replicas confirmed it within
// timeout. With fewer the hold is given back and tried again while the call
// may wait, and then reported as [ErrAcks]. The timeout must be shorter than
// the read timeout of the Redis client. This narrows the window in which a
// failover loses the lock; it does not close it.
// The default is 0: no confirmation.
func WithReplicaAcks(n int, timeout time.Duration) Option {
	return func(c *config) { c.acks, c.acksTimeout = n, timeout }
}

// WithKeyPrefix puts prefix before the name of every lock, auxiliary keys
// included. The default is none.
func WithKeyPrefix(prefix string) Option { return func(c *config) { c.prefix = prefix } }

// fencing is where tokens come from.
type fencing int

const (
	fencingOff fencing = iota
	fencingOwn
	fencingRedisson
)

// WithFencing mints a token for every hold; see [Grant]. It is the time of the
// server in microseconds, or one more than the last token where that is greater.
// So tokens also grow when the last one was lost in a failover, unless the clock
// of the new primary is behind that of the old one. The server keeps the last
// token for seven days.
// The default is no token.
func WithFencing() Option { return func(c *config) { c.fencing = fencingOwn } }

// WithRedissonFencing mints tokens from the counter of Redisson's RFencedLock, so
// that a Go service and a Java service can share one resource. The counter
// never expires, and a failover can take it back: then tokens come twice.
func WithRedissonFencing() Option { return func(c *config) { c.fencing = fencingRedisson } }

// WithID sets the client's part of the owner field, "<id>:<owner>". No two
// clients that are alive at the same time may share one.
// The default is a random UUID.
func WithID(id string) Option { return func(c *config) { c.id = id } }

// WithRand sets the source of jitter. It is read in New
// only, so it may be shared afterwards.
// The default is seeded from crypto/rand.
func WithRand(r *mathrand.Rand) Option { return func(c *config) { c.rand = r } }

// WithObserver sets who is told about grants, renewals and losses.
// The default is nobody.
func WithObserver(o Observer) Option { return func(c *config) { c.observer = o } }

// WithLogger logs what happens to locks: at level Warn a loss, a renewal that
// failed and an outcome that nobody knows, at level Debug grants and releases.
// The default is no log.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithSafetyPoll sets how long a waiter sleeps at most before it looks again
// by itself. It bounds what a lost message costs. Up to a quarter is taken off
// at random. At least 1ms. The default is 1s.
func WithSafetyPoll(d time.Duration) Option { return func(c *config) { c.safetyPoll = d } }

// WithUnlockTimeout sets how long a release is tried, and how long the
// compensation of an acquire with an unknown outcome keeps its owner from asking
// again. The client then goes on with the compensation each second, for as long as
// the lease. At least 1ms. The default is 5s.
func WithUnlockTimeout(d time.Duration) Option { return func(c *config) { c.unlockTimeout = d } }
