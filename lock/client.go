package lock

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client makes locks on one Redis. It renews their leases, and shares one
// subscription connection among all waiters. It is safe for concurrent use; a
// process needs one client per Redis.
//
// An idle client costs nothing: the watchdog runs only while a lock is held,
// and the subscription connection exists only while somebody waits.
type Client struct {
	rdb    redis.UniversalClient
	user   redis.UniversalClient // as it was given, and can subscribe
	cfg    config
	seed   uint64        // of the jitter
	serial atomic.Uint64 // of the last request
	hub    *hubs
	asked  atomic.Bool // for sharded channels
	shards atomic.Bool // the servers have sharded channels

	life context.Context    // ended by Close
	end  context.CancelFunc // ends life
	ops  sync.WaitGroup     // open calls and running goroutines

	// mu guards everything below and all states. No goroutine holds it across I/O or
	// while waiting, because that would stop a virtual clock.
	mu     sync.Mutex
	closed bool
	states map[stateKey]*state
	calls  map[string]*numbers // by name of a lock
	lines  map[string]*line    // by channel
	dog    watchdog

	direct bool // rdb ends its I/O at the deadline of a context; see call
	pool   int  // connections that rdb may keep, to one server
}

// New makes a client on rdb. Close the client before you close rdb. New refuses
// a *redis.Ring, because its shards do not share subscriptions.
//
// The client bounds each try of a request, and repeats it within the unlock timeout, so
// that one dead connection does not end an operation. Set ContextTimeoutEnabled in the
// options of rdb if it has hooks, or is not a *redis.Client. Without it
//   - a *redis.Client lends its connections to a view with the option set, which has
//     neither the hooks of rdb nor its retries;
//   - any other client costs a goroutine for each request, which takes about as long as
//     the request on an idle machine.
//
// With a *redis.Client, or with the option, a cancelled context shows at the end of a try,
// after the unlock timeout at the latest.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() { // or a typed nil pointer
		return nil, errors.New("lock: no Redis client")
	}
	if _, ok := rdb.(*redis.Ring); ok {
		return nil, errors.New("lock: a ring of servers is not supported")
	}
	user, direct, pool, readTimeout := rdb, false, 0, time.Duration(0)
	switch user := rdb.(type) {
	case *redis.Client:
		direct, pool, readTimeout = true, user.Options().PoolSize, user.Options().ReadTimeout
		if !user.Options().ContextTimeoutEnabled {
			rdb = boundedView(user)
		}
	case *redis.ClusterClient:
		direct, pool, readTimeout = user.Options().ContextTimeoutEnabled, user.Options().PoolSize, user.Options().ReadTimeout
	}
	cfg, err := newConfig(opts, readTimeout)
	if err != nil {
		return nil, err
	}
	_, connects := rdb.(connector)
	if _, cluster := rdb.(*redis.ClusterClient); cfg.acks > 0 && !connects && !cluster {
		return nil, fmt.Errorf("lock: replica acks need a connection of their own, which a %T does not give", rdb)
	}
	c := &Client{rdb: rdb, user: user, cfg: cfg, seed: orSeeded(cfg.rand).Uint64(), direct: direct, pool: pool}
	c.states, c.calls, c.lines = make(map[stateKey]*state), make(map[string]*numbers), make(map[string]*line)
	// Serials keep growing after a process with the same id restarts.
	c.serial.Store(uint64(time.Now().UnixMicro()))
	c.life, c.end = context.WithCancel(context.Background())
	c.hub = newHubs(c)
	return c, nil
}

// boundedView returns a client with the connections of rdb, which ends its I/O at the
// deadline of a context and does not repeat a request.
func boundedView(rdb *redis.Client) *redis.Client {
	user := rdb.Options()
	view := rdb.WithTimeout(user.ReadTimeout)
	own := view.Options() // a copy
	own.WriteTimeout = user.WriteTimeout
	own.ContextTimeoutEnabled = true
	own.MaxRetries = 0
	return view
}

// Close stops the watchdog and the subscription, and ends every wait with [ErrClosed].
// Held locks stay on the server until their leases end, and their holders are still
// notified of that. Close does not close the Redis client. It waits for open calls; if
// the server does not answer, this takes up to the unlock timeout and the read timeout of
// the Redis client. When it returns, no goroutine of the client is left.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.ops.Wait()
	return nil
}

// overtake makes the next serial greater than one that the server has seen.
func (c *Client) overtake(serial uint64) {
	for {
		now := c.serial.Load()
		if now >= serial || c.serial.CompareAndSwap(now, serial) {
			return
		}
	}
}

// jitter takes up to a quarter off d. With one seed, the n-th draw of an owner is always
// the same. A stream shared by all owners would depend on the order of their goroutines.
func (c *Client) jitter(s stateKey, n int, d time.Duration) time.Duration {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", s.name, s.owner)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	off := rand.New(rand.NewPCG(c.seed, h.Sum64())).Int64N(int64(d)/4 + 1)
	return d - time.Duration(off)
}

// orSeeded returns rng, or a source of its own for nil.
func orSeeded(rng *rand.Rand) *rand.Rand {
	if rng != nil {
		return rng
	}
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed))
}

// call runs f, which does I/O, and returns when f returns or ctx ends,
// whichever comes first. The Redis client bounds reads only by its own timeout,
// unless it has ContextTimeoutEnabled. An f that call leaves behind ends by
// that timeout, and Close waits for it. The caller must be counted in ops.
//
// With ContextTimeoutEnabled, f runs in the caller's goroutine: another goroutine for
// each request wakes a thread twice, which takes as long as the request. The price is
// that f notices a cancellation only at the answer or the read timeout.
func call[T any](ctx context.Context, c *Client, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		val T
		err error
	}
	if c.direct {
		val, err := f(ctx)
		awaitEnd(ctx, err)
		return val, err
	}
	ch := make(chan result, 1)
	c.ops.Go(func() {
		val, err := f(ctx)
		ch <- result{val, err}
	})
	select {
	case r := <-ch:
		awaitEnd(ctx, r.err)
		return r.val, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(deadlineSlack) // f sees the end of ctx, too, unless it reads
	select {
	case r := <-ch:
		return r.val, r.err
	case <-timer.C:
		return *new(T), ctx.Err()
	}
}

// deadlineSlack is the time by which a connection may time out before its context, at the
// deadline of both.
const deadlineSlack = time.Millisecond

// awaitEnd waits for the end of ctx if err is a timeout of the network at the
// deadline of ctx. So the failure counts as the end of ctx, whichever timer fires
// first. The error stays, because it may say that no server got the request.
func awaitEnd(ctx context.Context, err error) {
	var failure net.Error
	timeout := errors.As(err, &failure) && failure.Timeout()
	if deadline, ok := ctx.Deadline(); timeout && ok && time.Until(deadline) < deadlineSlack {
		<-ctx.Done()
	}
}

// withDone returns a context that also ends when the client is closed.
func (c *Client) withDone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}
