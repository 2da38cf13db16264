// Package textbook contains the locks that people deploy on Redis, with their
// defects, in the order of tutorials:
//
//	setnx         SETNX, no expiry, plain DEL
//	setnx-expire  SETNX, then PEXPIRE, plain DEL
//	set-px        SET NX PX, plain DEL
//	set-px-check  the owner's value, GET then DEL
//	set-px-watch  the owner's value, WATCH / GET / MULTI / DEL / EXEC
//	set-px-lua    the owner's value, compare and delete in a script
//	set-px-renew  set-px-lua and a scheduler that extends the lease
//	getset        SETNX of the end of the lease by the client's clock, then GET and GETSET
//
// Semaphores of several permits follow:
//
//	semaphore-zset     a sorted set of permits and the ends of their leases, in scripts
//	semaphore-clock    semaphore-zset by the clocks of the clients
//	semaphore-counter  INCR up to the limit, PEXPIRE at each grant, plain DECR
//	semaphore-list     a list of tokens, LPOP to take one, RPUSH to give it back
//	semaphore-quorum   semaphore-zset on most of several servers
//
// And a lock for readers and writers:
//
//	read-write  a hash with the mode, the holds and the ends of their leases, in scripts
//
// And a lock for servers that compare without a script, such as Valkey 9.1:
//
//	no-script  the owner's value, SET IFEQ PX to extend, DELIFEQ to release
//
// They are for comparison; use package lock instead. All of them are
// [lock.Locker], poll while they wait, and are not reentrant: a second acquire by
// the owner returns busy. The key is the lock's name, its value the owner.
//
// None of them repairs an acquire of unknown outcome. If the reply is lost, the
// key may exist. Then the lock stays taken until the lease ends, and even its
// owner finds it busy, as after a repeated command of go-redis. All of them use
// one primary: a failover that loses the key gives the lock to two owners.
package textbook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Options are the settings of a lock; the zero value has the defaults.
type Options struct {
	// Lease is the time that a hold lasts when an acquire does not say. The default is 10
	// s, as in the tutorials. setnx has none.
	Lease time.Duration
	// Poll is the longest time between two tries while waiting; each wait is
	// drawn between half of it and all of it. The default is 100 ms.
	Poll time.Duration
	// Rand is where these draws come from. A lock uses it under a mutex of
	// its own, so give each lock one of its own; nil derives one from the
	// lock's name and owner.
	Rand *rand.Rand

	// Scan is the time between two looks of a [Renewer] at its holds. The default is 2 s.
	Scan time.Duration
	// Extensions is the number of times that a Renewer extends a hold before it gives it
	// up and interrupts the holder. The default is 3.
	Extensions int

	// Permits is the number of permits of a semaphore. The default is 2.
	Permits int
	// Takes is the number of permits that an acquire takes. The default is 1.
	Takes int

	// Now is the clock of the client, for locks that compare its time with that of
	// others. The default is [time.Now].
	Now func() time.Time
}

func (o Options) withDefaults(name, owner string) Options {
	o.Lease = cmp.Or(max(o.Lease, 0), 10*time.Second)
	o.Poll = cmp.Or(max(o.Poll, 0), 100*time.Millisecond)
	if o.Rand == nil {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s", name, owner)
		o.Rand = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	o.Scan = cmp.Or(max(o.Scan, 0), 2*time.Second)
	o.Extensions = cmp.Or(max(o.Extensions, 0), 3)
	o.Permits = cmp.Or(max(o.Permits, 0), 2)
	o.Takes = cmp.Or(max(o.Takes, 0), 1)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Spin is the loop that all rungs share: try, wait a little, try again.
type Spin struct {
	rdb         redis.UniversalClient
	name, owner string
	opts        Options

	// Take makes one try and says whether it got the lock.
	Take func(ctx context.Context, lease time.Duration) (bool, error)
	// forever says that the hold has no lease.
	forever bool

	mu sync.Mutex // guards opts.Rand
}

// NewSpin is a lock without Take and Unlock.
func NewSpin(rdb redis.UniversalClient, name, owner string, o Options) Spin {
	return Spin{rdb: rdb, name: name, owner: owner, opts: o.withDefaults(name, owner)}
}

// Lock implements [lock.Locker].
func (s *Spin) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return s.acquire(ctx, lock.NewAcquire(opts), -1)
}

// TryLock implements [lock.Locker]. It makes its last try when the wait is over.
func (s *Spin) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	a := lock.NewAcquire(opts)
	return s.acquire(ctx, a, max(0, a.Wait))
}

// acquire polls until wait is over, or without end when it is negative.
func (s *Spin) acquire(ctx context.Context, a lock.Acquire, wait time.Duration) (lock.Grant, error) {
	lease := a.Lease
	lease = cmp.Or(lease, s.opts.Lease)
	if lease < time.Millisecond {
		return lock.Grant{}, fmt.Errorf("lock: a lease of %v is shorter than a millisecond", lease)
	}
	end := time.Now().Add(wait)
	for {
		if err := ctx.Err(); err != nil {
			return lock.Grant{}, err
		}
		switch ok, err := s.Take(ctx, lease); {
		case err != nil:
			return lock.Grant{}, unknown(ctx, err)
		case ok && s.forever:
			return lock.Grant{Count: s.opts.Takes}, nil
		case ok:
			return lock.Grant{Count: s.opts.Takes, Lease: lease}, nil
		}
		pause := s.pause()
		if wait >= 0 {
			left := time.Until(end)
			if left <= 0 {
				return lock.Grant{}, lock.ErrBusy
			}
			pause = min(pause, left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return lock.Grant{}, ctx.Err()
		}
	}
}

// pause draws the time to the next try.
func (s *Spin) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := int64(s.opts.Poll) / 2
	return s.opts.Poll - time.Duration(s.opts.Rand.Int64N(half+1))
}

// setNX is SET key owner NX PX lease, one atomic command: no crash can leave a
// lock without expiry.
func (s *Spin) setNX(ctx context.Context, lease time.Duration) (bool, error) {
	cmd := redis.NewBoolCmd(ctx, "set", s.name, s.owner, "nx", "px", lease.Milliseconds())
	_ = s.rdb.Process(ctx, cmd) // the error is the command's
	return cmd.Result()         // go-redis reads the answer nil, "not set", as false
}

// plainDel deletes the key of any holder. It cannot tell a release from a theft, and so
// returns success either way.
//
// Like all textbook releases it uses the caller's context. When that is already
// cancelled, nothing is sent and the lock stays taken until its lease ends, or for ever
// when it has none.
func (s *Spin) plainDel(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.rdb.Del(ctx, s.name).Err(); err != nil {
		return unknown(ctx, err)
	}
	return nil
}

// released maps the answer to a request onto the contract that does nothing where its
// owner does not have the lock.
func released(ctx context.Context, found bool, err error) error {
	switch {
	case err != nil:
		return unknown(ctx, err)
	case !found:
		return lock.ErrNotHeld
	}
	return nil
}

// unknown maps the error of a request onto the contract. Even an error that
// the server itself returned leaves the outcome open: the client library may
// have sent the request before and lost the reply.
func unknown(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = errors.Join(ended, err)
	}
	return errors.Join(lock.ErrUnknown, err)
}
