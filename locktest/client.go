package locktest

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/subject/adapter"
)

// Client is one client process: what a lock in it has to work with.
type Client struct {
	// ID is the name of the process, which no other has.
	ID string
	// Redis reaches the primary, and Primaries all of those that the lock lives
	// on, with go-redis' own settings. They are closed for the lock. For a lock
	// that takes a *redis.Client there is [Client.Single].
	Redis     redis.UniversalClient
	Primaries []redis.UniversalClient
	// Lease is how long a hold is to last unless it is renewed.
	Lease time.Duration
	// Poll is how long a waiter is to go without looking; 0 leaves it to the lock.
	Poll time.Duration
	// Addrs and Dial are for clients other than go-redis: where the primaries
	// are, and what connects to them. They are empty in a cluster.
	Addrs []string
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	// Access is how to reach real servers; nil in virtual time.
	Access *adapter.Access

	seed  uint64
	scale float64
}

func newClient(e subject.Environment) *Client {
	return &Client{
		ID: e.Process, Redis: e.Clients[0], Primaries: e.Clients, Lease: e.Lease, Poll: e.Poll, Addrs: e.Addrs, Dial: e.Dial,
		seed: e.Seed, scale: e.Scale,
	}
}

// Single is Redis for a lock that takes a *redis.Client. Such a lock cannot have
// a cluster: Single panics in the scenarios that are about one, unless
// [Lock].Reaches leaves "cluster" out.
func (c *Client) Single() *redis.Client {
	one, ok := c.Redis.(*redis.Client)
	if !ok {
		panic(`this scenario is about a cluster, and the lock takes a *redis.Client: say Reaches: []string{"address", "sentinels"}`)
	}
	return one
}

// Scaled is a duration of the lock's own, such as a timeout or a delay between
// two tries, in this world: real servers play a scenario faster or slower than
// it is written. In virtual time it is d.
func (c *Client) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.scale)
}

// Rand is a source of randomness that follows from the seed of the run, the
// process and the names: a run can only be repeated when nothing is drawn from
// elsewhere.
func (c *Client) Rand(names ...string) *rand.Rand {
	return random.Stream(c.seed, append([]string{"guest", c.ID}, names...)...)
}
