package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/lock"
)

// contender is a lock that is measured.
type contender struct {
	name    string
	module  string // where its version stands in go.mod; "" for what is built here
	lock    bool   // not a floor
	ours    bool   // the reference lock
	fair    bool
	foreign bool // it runs in another process, behind a pipe
	// open makes what a process of its own would have: a client with its
	// connections. lease is that of every hold.
	open func(ctx context.Context, addr string, lease time.Duration) (client, error)
}

// client makes one kind of lock on one server. It is safe for concurrent use.
type client interface {
	// acquire waits for the lock called name on behalf of owner.
	acquire(ctx context.Context, name, owner string) (hold, error)
	close() error
}

// hold is a lock that is held.
type hold struct {
	release func(ctx context.Context) error
	renew   func(ctx context.Context) error // nil: it is renewed without us
}

// pollEvery is the pause of redislock, which has no default: that of its README.
const pollEvery = 100 * time.Millisecond

func goContenders() []contender {
	return []contender{
		{name: "reference", ours: true, lock: true, open: openReference},
		{name: "reference, fair", ours: true, fair: true, lock: true, open: openFair},
		{name: "redsync", lock: true, module: "github.com/go-redsync/redsync/v4", open: openRedsync},
		{name: "redislock", lock: true, module: "github.com/bsm/redislock", open: openRedislock},
		{name: "rueidislock", lock: true, module: "github.com/redis/rueidis", open: openRueidislock},
	}
}

type referenceClient struct {
	rdb *redis.Client
	c   *lock.Client
}

func openReference(_ context.Context, addr string, lease time.Duration) (client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	c, err := lock.New(rdb, lock.WithWatchdogTimeout(lease))
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &referenceClient{rdb, c}, nil
}

func (r *referenceClient) acquire(ctx context.Context, name, owner string) (hold, error) {
	l := r.c.NewLock(name, owner)
	if _, err := l.Lock(ctx); err != nil {
		return hold{}, err
	}
	return hold{release: func(ctx context.Context) error {
		_, err := l.Unlock(ctx)
		return err
	}}, nil
}

func (r *referenceClient) close() error { return errors.Join(r.c.Close(), r.rdb.Close()) }

// fairClient takes the fair lock, with a client as lock.New makes it.
type fairClient struct{ *referenceClient }

func openFair(ctx context.Context, addr string, lease time.Duration) (client, error) {
	c, err := openReference(ctx, addr, lease)
	if err != nil {
		return nil, err
	}
	return fairClient{c.(*referenceClient)}, nil
}

func (f fairClient) acquire(ctx context.Context, name, _ string) (hold, error) {
	h, err := f.c.NewFairLock(name).Acquire(ctx)
	if err != nil {
		return hold{}, err
	}
	return hold{release: h.Release}, nil
}

type redsyncClient struct {
	rdb   *redis.Client
	rs    *redsync.Redsync
	lease time.Duration
}

func openRedsync(_ context.Context, addr string, lease time.Duration) (client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	return &redsyncClient{rdb, redsync.New(goredis.NewPool(rdb)), lease}, nil
}

func (r *redsyncClient) acquire(ctx context.Context, name, _ string) (hold, error) {
	m := r.rs.NewMutex(name, redsync.WithExpiry(r.lease), redsync.WithTries(math.MaxInt))
	if err := m.LockContext(ctx); err != nil {
		return hold{}, err
	}
	return hold{
		release: func(ctx context.Context) error { return done(m.UnlockContext(ctx)) },
		renew:   func(ctx context.Context) error { return done(m.ExtendContext(ctx)) },
	}, nil
}

func done(ok bool, err error) error {
	if err == nil && !ok {
		return errors.New("the lock is not held any more")
	}
	return err
}

func (r *redsyncClient) close() error { return r.rdb.Close() }

type redislockClient struct {
	rdb   *redis.Client
	c     *redislock.Client
	lease time.Duration
}

func openRedislock(_ context.Context, addr string, lease time.Duration) (client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	return &redislockClient{rdb, redislock.New(rdb), lease}, nil
}

func (r *redislockClient) acquire(ctx context.Context, name, _ string) (hold, error) {
	l, err := r.c.Obtain(ctx, name, r.lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(pollEvery)})
	if err != nil {
		return hold{}, err
	}
	return hold{
		release: l.Release,
		renew:   func(ctx context.Context) error { return l.Refresh(ctx, r.lease, nil) },
	}, nil
}

func (r *redislockClient) close() error { return r.rdb.Close() }

type rueidislockClient struct{ l rueidislock.Locker }

func openRueidislock(_ context.Context, addr string, lease time.Duration) (client, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyValidity:  lease, ExtendInterval: lease / 3,
		KeyMajority:    1,    // there is one server
		NoLoopTracking: true, // for servers from 7.0.5
	})
	if err != nil {
		return nil, err
	}
	return rueidislockClient{l}, nil
}

func (r rueidislockClient) acquire(ctx context.Context, name, _ string) (hold, error) {
	for {
		try, giveUp := context.WithCancel(ctx) // no timeout: it would end the hold, too
		timer := time.AfterFunc(rueidislockStuck, giveUp)
		_, cancel, err := r.l.WithContext(try, name)
		if timer.Stop() && err == nil {
			return hold{release: func(context.Context) error {
				cancel() // waits until the key is deleted
				giveUp()
				return nil
			}}, nil
		}
		giveUp()
		switch {
		case ctx.Err() != nil:
			return hold{}, ctx.Err()
		case err != nil && !errors.Is(err, context.Canceled):
			return hold{}, err
		case err == nil:
			cancel()
		}
	}
}

// rueidislockStuck is when an acquire is begun anew. With NoLoopTracking a client waits
// for ever if the server answers later than TryNextAfter, 20 ms. It waits for a message
// about a key that it has deleted itself, which is not sent.
const rueidislockStuck = 2 * time.Second

func (r rueidislockClient) close() error {
	r.l.Close()
	return nil
}

// bare is no lock: what an acquire and a release cost at least.
type bare struct {
	rdb        *redis.Client
	take, give func(ctx context.Context, name, owner string) error
}

const (
	pingsName = "two PING"
	bareName  = "two EVALSHA that do nothing"
	floorName = "floor: two EVALSHA that take and release"
	// Every lock with Redisson's keys does at least this.
	takeSource = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], ARGV[1], 1)
return redis.call('pexpire', KEYS[1], ARGV[2])`
	giveSource = `if not redis.call('hget', KEYS[1], ARGV[1]) then return 0 end
redis.call('del', KEYS[1])
return redis.call('publish', ARGV[3], '0')`
)

func openBare(pair func(rdb *redis.Client) (take, give func(ctx context.Context, name, owner string) error)) func(context.Context, string, time.Duration) (client, error) {
	return func(_ context.Context, addr string, _ time.Duration) (client, error) {
		b := &bare{rdb: redis.NewClient(&redis.Options{Addr: addr})}
		b.take, b.give = pair(b.rdb)
		return b, nil
	}
}

func scripts(take, give string) func(rdb *redis.Client) (_, _ func(context.Context, string, string) error) {
	return func(rdb *redis.Client) (_, _ func(context.Context, string, string) error) {
		send := func(script *redis.Script) func(context.Context, string, string) error {
			return func(ctx context.Context, name, owner string) error {
				return script.Run(ctx, rdb, []string{name}, owner, 10000, "bench:channel:{"+name+"}").Err()
			}
		}
		return send(redis.NewScript(take)), send(redis.NewScript(give))
	}
}

func pings(rdb *redis.Client) (_, _ func(context.Context, string, string) error) {
	ping := func(ctx context.Context, _, _ string) error { return rdb.Ping(ctx).Err() }
	return ping, ping
}

// floors are the lowest costs, to compare with.
func floors() []contender {
	return []contender{
		{name: pingsName, open: openBare(pings)},
		{name: bareName, open: openBare(scripts(`return 1`, `return 2`))},
		{name: floorName, open: openBare(scripts(takeSource, giveSource))},
	}
}

func (b *bare) acquire(ctx context.Context, name, owner string) (hold, error) {
	if err := b.take(ctx, name, owner); err != nil {
		return hold{}, err
	}
	return hold{release: func(ctx context.Context) error { return b.give(ctx, name, owner) }}, nil
}

func (b *bare) close() error { return b.rdb.Close() }

// opened are contenders with a client each. The table names those that cannot be opened
// with the reason.
type opened struct {
	contender
	client
	why error
}

func openAll(ctx context.Context, addr string, lease time.Duration, contenders []contender) []opened {
	all := make([]opened, len(contenders))
	var wg sync.WaitGroup
	for i, s := range contenders {
		wg.Go(func() {
			c, err := s.open(ctx, addr, lease)
			if err != nil {
				err = fmt.Errorf("open %s: %w", s.name, err)
			}
			all[i] = opened{s, c, err}
		})
	}
	wg.Wait()
	return all
}

func closeAll(all []opened) {
	for _, o := range all {
		if o.client != nil {
			_ = o.close() // the server goes away in any case
		}
	}
}
