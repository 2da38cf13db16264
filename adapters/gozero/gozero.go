package main

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	red "github.com/redis/go-redis/v9"
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// go-zero documents this in its source: SetExpire takes whole seconds, and AcquireCtx
// adds half a second (redislock.go, tolerance).
const (
	unit      = time.Second
	tolerance = 500 * time.Millisecond
)

// Lock is go-zero's RedisLock. Its AcquireCtx is one try, and it renews nothing. It
// does not claim to close: go-zero keeps one client for each address as long as
// the process lives (redisclientmanager.go, clientManager).
func Lock() locktest.Lock {
	return locktest.Lock{
		Name: "go-zero", Summary: "go-zero's RedisLock: one try, whole seconds and half a second more", Version: "v1.10.3",
		Claims:    locktest.Claims{Lease: true, Explicit: true},
		LeaseUnit: unit, LeaseSlack: tolerance, KeepsConnections: true,
		Reaches: []string{"address"}, // it asks no Sentinels, and one dial hook cannot separate a cluster's nodes
		Known:   known,
		Open:    open,
	}
}

// errVirtual is the reason for not playing the lock in virtual time.
var errVirtual = errors.New("go-zero needs real servers: its client opens eight connections before it takes a hook that says how")

// open makes the store that a process asks for its locks. go-zero has no option
// for how it connects, and one for hooks of go-redis, which has.
func open(c *locktest.Client) (locktest.Session, error) {
	if c.Access == nil {
		return nil, errVirtual
	}
	s, err := redis.NewRedis(redis.RedisConf{Host: c.Addrs[0], Type: redis.NodeType, NonBlock: true}, redis.WithHook(dialer{c}))
	return session{s, c.Lease}, err
}

type session struct {
	store *redis.Redis
	lease time.Duration
}

// Locker implements [locktest.Session].
func (s session) Locker(name, _ string) lock.Locker {
	return &locker{store: s.store, name: name, lease: s.lease}
}

// Close implements [locktest.Session]. go-zero has nothing that would close a client.
func (session) Close() error { return nil }

// dialer connects as a process of a run does.
type dialer struct{ c *locktest.Client }

func (d dialer) DialHook(red.DialHook) red.DialHook {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := d.c.Dial(ctx, network, d.c.Addrs[0])
		if err != nil {
			return nil, err
		}
		return scaled{conn, d.c}, nil
	}
}

func (dialer) ProcessHook(next red.ProcessHook) red.ProcessHook { return next }

func (dialer) ProcessPipelineHook(next red.ProcessPipelineHook) red.ProcessPipelineHook { return next }

// scaled is a connection whose timeouts, which go-zero leaves to go-redis'
// defaults, are in the time of the run.
type scaled struct {
	net.Conn
	c *locktest.Client
}

func (s scaled) at(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Now().Add(s.c.Scaled(time.Until(t)))
}

func (s scaled) SetDeadline(t time.Time) error      { return s.Conn.SetDeadline(s.at(t)) }
func (s scaled) SetReadDeadline(t time.Time) error  { return s.Conn.SetReadDeadline(s.at(t)) }
func (s scaled) SetWriteDeadline(t time.Time) error { return s.Conn.SetWriteDeadline(s.at(t)) }

// locker is one owner's view of a lock. As its users do, it makes a RedisLock for
// every hold.
type locker struct {
	store *redis.Redis
	name  string
	lease time.Duration

	held atomic.Pointer[redis.RedisLock]
}

// Lock implements [lock.Locker]. go-zero does not wait, so the harness never calls it.
func (l *locker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.TryLock(ctx, opts...)
}

// TryLock implements [lock.Locker].
func (l *locker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	lease := l.lease
	if own := lock.NewAcquire(opts).Lease; own > 0 {
		lease = own
	}
	seconds := int((lease + unit - 1) / unit)
	one := redis.NewRedisLock(l.store, l.name)
	one.SetExpire(seconds)
	ok, err := one.AcquireCtx(ctx)
	switch {
	case err != nil:
		return lock.Grant{}, classed(err)
	case !ok:
		return lock.Grant{}, lock.ErrBusy
	}
	l.held.Store(one)
	return lock.Grant{Count: 1, Lease: time.Duration(seconds)*unit + tolerance}, nil
}

// Unlock implements [lock.Locker].
func (l *locker) Unlock(ctx context.Context) (int, error) {
	one := l.held.Load()
	if one == nil {
		return 0, lock.ErrNotHeld
	}
	ok, err := one.ReleaseCtx(ctx)
	if err != nil {
		return 0, classed(err)
	}
	l.held.Store(nil)
	if !ok {
		return 0, lock.ErrNotHeld
	}
	return 0, nil
}

// classed says what an error leaves open. go-zero's breaker sends nothing while
// it is open.
func classed(err error) error {
	if errors.Is(err, breaker.ErrServiceUnavailable) {
		return errors.Join(lock.ErrRefused, err)
	}
	return errors.Join(lock.ErrUnknown, err)
}

// known are the violations that go-zero's lock shows, each with the reason in its source.
var known = []locktest.Known{
	{Scenario: "lost-release-reply", Property: "errors", Because: sentTwice},
	{Scenario: "lost-release-reply", Property: "linearizable", Because: sentTwice},
	{Scenario: "stale-grant", Property: "lease", Because: stale},
	{Scenario: "stale-grant", Property: "exclusion", Because: stale},
}

const stale = "AcquireCtx does not look how old the grant is when its reply comes (redislock.go:60)."

const sentTwice = "go-redis sends the script again when its reply is lost, and the second finds nothing to delete (delscript.lua): " +
	"ReleaseCtx returns false for a lock that it has released."
