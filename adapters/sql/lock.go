package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/lock"
)

// The settings of the clients, in the time of a world where a second is one.
const (
	dialTimeout = 5 * time.Second
	// requestTimeout bounds what has no bound of its own: one try, and a release.
	requestTimeout = 5 * time.Second
	// pollEvery is the time for which a waiter for a row goes without looking.
	pollEvery = 100 * time.Millisecond
)

// client is the lock under test in a client process: a pool of connections.
type client struct {
	base    *database
	db      *sql.DB
	name    string // of this process
	kind    string // "row", or one of the database's kinds
	bounded bool   // sessions that are silent for a lease are ended
	lease   time.Duration
	timeout time.Duration
	poll    time.Duration

	mu       sync.Mutex
	owners   []interface{ end() }
	ended    bool
	undoing  sync.WaitGroup
	life     context.Context // ends with Disconnect
	lifeOver context.CancelFunc
}

// parse finds what a lock is called: database, kind, and whether the server
// bounds its sessions.
func parse(name string) (base *database, kind string, bounded bool, err error) {
	for _, d := range databases {
		rest, found := strings.CutPrefix(name, d.name+"-")
		if !found {
			continue
		}
		rest, bounded = strings.CutSuffix(rest, boundedSuffix)
		if _, known := d.kinds[rest]; known || rest == row && !bounded {
			return d, rest, bounded, nil
		}
	}
	return nil, "", false, fmt.Errorf("there is no lock %q here", name)
}

func open(h adapter.Hello) (adapter.Lock, error) {
	base, kind, bounded, err := parse(h.Lock)
	if err != nil {
		return nil, err
	}
	db, err := base.connect(h.Redis)
	if err != nil {
		return nil, err
	}
	c := &client{
		base: base, db: db, name: h.Process, kind: kind, bounded: bounded, lease: roundUp(time.Duration(h.LeaseNS), base.unit),
		timeout: h.Redis.Scaled(requestTimeout), poll: time.Duration(h.PollNS),
	}
	if kind == row {
		c.lease = time.Duration(h.LeaseNS)
	}
	if c.poll == 0 {
		c.poll = h.Redis.Scaled(pollEvery)
	}
	c.life, c.lifeOver = context.WithCancel(context.Background())
	// A process that has been up for a while is connected.
	ctx, cancel := context.WithTimeout(c.life, dialTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect: %w", err), db.Close())
	}
	return c, nil
}

func roundUp(d, unit time.Duration) time.Duration { return max(unit, (d+unit-1)/unit*unit) }

// Describe implements [adapter.Described].
func (c *client) Describe() (name, version string) { return c.base.name, c.base.version() }

// Identity implements [adapter.Lock]: a row has an owner for each hold, and
// sessions have the server's numbers.
func (c *client) Identity(string) string { return "" }

// Locker implements [adapter.Lock].
func (c *client) Locker(name, thread string) (lock.Locker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kind == row {
		return &rowOwner{of: c, name: name, id: c.name + "/" + thread}, nil
	}
	o := &sessionOwner{of: c, name: name, kind: c.base.kinds[c.kind]}
	c.owners = append(c.owners, o)
	return o, nil
}

// Close implements [adapter.Lock]: it ends the sessions that hold locks.
func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, o := range c.owners {
		o.end()
	}
	return nil
}

// Disconnect implements [adapter.Lock].
func (c *client) Disconnect() error {
	c.lifeOver()
	c.undoing.Wait()
	return c.db.Close()
}

func (c *client) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// errOver ends a wait that has lasted as long as it may.
var errOver = errors.New("the wait is over")

// unclear is the error of a request that may have been carried out.
func unclear(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.Join(lock.ErrUnknown, context.Canceled, err)
	}
	return fmt.Errorf("%w: %v", lock.ErrUnknown, err) // a deadline of its own is no cancel by a caller
}
