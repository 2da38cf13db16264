package lock

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// Option changes a [Client]. A nil one changes nothing.
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
	safetyPoll    time.Duration
	unlockTimeout time.Duration
}

// newConfig applies opts. readTimeout is that of the Redis client, 0 or less if it
// has none.
func newConfig(opts []Option, readTimeout time.Duration) (config, error) {
	c := config{
		lease:         30 * time.Second,
		safetyPoll:    time.Second,
		unlockTimeout: 5 * time.Second,
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	switch {
	case c.lease < 10*time.Millisecond:
		return c, fmt.Errorf("lock: watchdog timeout %v is below 10ms", c.lease)
	case c.lease > leaseMax:
		return c, fmt.Errorf("lock: watchdog timeout %v is above 100 years", c.lease)
	case c.safetyPoll < time.Millisecond:
		return c, fmt.Errorf("lock: safety poll %v is below 1ms", c.safetyPoll)
	case c.unlockTimeout < time.Millisecond:
		return c, fmt.Errorf("lock: unlock timeout %v is below 1ms", c.unlockTimeout)
	case c.acks < 0:
		return c, fmt.Errorf("lock: %d replica acks", c.acks)
	case c.acks > 0 && c.acksTimeout < time.Millisecond:
		// WAIT reads 0 as no timeout.
		return c, fmt.Errorf("lock: replica acks timeout %v is below 1ms", c.acksTimeout)
	case c.acks > 0 && readTimeout > 0 && c.acksTimeout >= readTimeout:
		return c, fmt.Errorf("lock: replica acks timeout %v is not below the read timeout of the Redis client, %v", c.acksTimeout, readTimeout)
	}
	if c.prefix != "" {
		if _, err := newNames(c.prefix); err != nil {
			return c, fmt.Errorf("lock: the braces of the key prefix %q are no hash tag", c.prefix)
		}
	}
	c.observer = c.observer.complete()
	if c.id == "" {
		c.id = rand.Text()
	}
	if strings.Contains(c.id, ":") {
		return c, fmt.Errorf("lock: the id %q has a colon, which ends the id in the field of an owner", c.id)
	}
	return c, nil
}

// WithWatchdogTimeout sets the lease of a hold without [Lease]. The watchdog renews it
// three times per lease. At least 10ms, and at most 100 years. The default is 30s.
func WithWatchdogTimeout(d time.Duration) Option { return func(c *config) { c.lease = d } }

// WithReplicaAcks makes a grant count only if n replicas confirm it within timeout.
// Otherwise the lock releases it and tries again while the call may wait, and then returns
// [ErrAcks]. New refuses a timeout that is not below the read timeout of the Redis client,
// and a client that has no Conn. This narrows the window in which a failover loses the
// lock, but does not close it. The default is 0: no confirmation.
func WithReplicaAcks(n int, timeout time.Duration) Option {
	return func(c *config) { c.acks, c.acksTimeout = n, timeout }
}

// WithKeyPrefix puts prefix before the name of every lock, auxiliary keys
// included. New refuses a prefix with braces that are no hash tag, as "a}b{".
// Without this option, keys have no prefix.
func WithKeyPrefix(prefix string) Option { return func(c *config) { c.prefix = prefix } }

// fencing is the source of tokens.
type fencing int

const (
	fencingOff fencing = iota
	fencingOwn
	fencingRedisson
)

// WithFencing gives every hold a fencing token; see [Grant]. A token is the
// time of the server in microseconds, or one more than the last token if that
// is greater. So tokens grow even if a failover loses the last one, unless the
// clock of the new primary is behind that of the old one. The server keeps the
// last token for seven days. The default is no token.
func WithFencing() Option { return func(c *config) { c.fencing = fencingOwn } }

// WithRedissonFencing takes tokens from the counter of Redisson's RFencedLock,
// so a Go service and a Java service can share a resource. The counter never
// expires. A failover can roll it back, and tokens then repeat.
func WithRedissonFencing() Option { return func(c *config) { c.fencing = fencingRedisson } }

// WithID sets the client's part of the owner field, "<id>:<owner>". Two live
// clients must not share an id. New refuses an id with a colon. The default is random.
func WithID(id string) Option { return func(c *config) { c.id = id } }

// WithRand sets the source of jitter. Only New reads it, so you may share it
// afterwards. The default is seeded from crypto/rand.
func WithRand(r *mathrand.Rand) Option { return func(c *config) { c.rand = r } }

// WithObserver sets the receiver of outcomes, renewals and losses. The default is none.
func WithObserver(o Observer) Option { return func(c *config) { c.observer = o } }

// WithSafetyPoll sets the longest time that a waiter sleeps before it polls the
// server. It bounds the delay after a lost message. A random part of up to a
// quarter is taken off. At least 1ms. The default is 1s.
func WithSafetyPoll(d time.Duration) Option { return func(c *config) { c.safetyPoll = d } }

// WithUnlockTimeout sets how long the lock tries to release or extend a hold, and to get
// the answer to one attempt of an acquire. A try that gets no answer is repeated: the first
// one after a tenth of d. A release without an answer, and that of an acquire of unknown
// outcome, go on in the background until the lease ends. At least 1ms. The default is 5s.
func WithUnlockTimeout(d time.Duration) Option { return func(c *config) { c.unlockTimeout = d } }
