package locktest

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Client is one client process, with the servers for a lock in it.
type Client struct {
	// ID is the unique name of the process.
	ID string
	// Redis connects to the primary, and Primaries to all primaries of the
	// lock, with go-redis' defaults. Do not close them. If your lock needs a
	// *redis.Client, use [Client.Single].
	Redis     redis.UniversalClient
	Primaries []redis.UniversalClient
	// Lease is the duration of a hold without a renewal.
	Lease time.Duration
	// Poll is the poll interval of a waiter; 0 means the lock's own.
	Poll time.Duration
	// Addrs and Dial are for clients other than go-redis: the addresses of the
	// primaries, and a dialer for them. They are empty in a cluster.
	Addrs []string
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	// Access describes the real servers; nil in virtual time.
	Access *adapter.Access

	env locks.Environment
}

func newClient(e locks.Environment) *Client {
	return &Client{
		ID: e.Process, Redis: e.Clients[0], Primaries: e.Clients, Lease: e.Lease, Poll: e.Poll, Addrs: e.Addrs, Dial: e.Dial, env: e,
	}
}

// Single returns the Redis client for a lock that needs a *redis.Client. It panics
// in scenarios with a cluster, which such a lock cannot use. Exclude them with
// Lock.Reaches without "cluster".
func (c *Client) Single() *redis.Client {
	one, ok := c.Redis.(*redis.Client)
	if !ok {
		panic(`this scenario is about a cluster, and the lock takes a *redis.Client: say Reaches: []string{"address", "sentinels"}`)
	}
	return one
}

// Scaled converts a duration of the lock's own, such as a timeout or a retry delay, to
// the time of this world. Real servers play a scenario faster or slower than it is
// written. In virtual time Scaled returns d.
func (c *Client) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.env.Scale)
}

// Now is the time by the clock of this process: what [time.Now] returns there in
// production. Give it to a lock that takes a clock. Scenarios move the wall clocks of
// clients apart, and none of them moves the monotonic reading of Now. So measure time as
// c.Now().Sub(start), with a start from Now. In virtual time [time.Since] and [time.Until]
// of a time from Now are wrong by the fault, because they know the true time alone.
func (c *Client) Now() time.Time { return c.env.Now() }

// trueTime converts a time of a lock to the one that the workload and the judges share. A lock
// that has asked for Now states all times by that clock.
func (c *Client) trueTime(t time.Time) time.Time {
	if t.IsZero() || c.env.Clock == nil || !c.env.Clock.IsRead() {
		return t
	}
	return time.Now().Add(t.Sub(c.Now()))
}

// Rand returns a source of random numbers that depends on the seed of the run, the
// process and the names. A run is repeatable only if the lock uses no other source.
func (c *Client) Rand(names ...string) *rand.Rand {
	return random.Stream(c.env.Seed, append([]string{"guest", c.ID}, names...)...)
}
