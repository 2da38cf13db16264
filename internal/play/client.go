package play

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Client plays the workload of one client process.
type Client struct {
	work     scenarios.Workload
	Proc     *faults.Process
	session  locks.Session
	rec      *Recorder
	owners   *owners
	announce func(faults.Moment)
	settle   func(who string)  // nil in real time
	stocks   map[string]*Stock // by the name of the lock that guards each
	claims   history.Terms     // of the lock
	unasked  time.Duration     // the lease of an acquire that asks for none
	waits    bool              // whether an acquire waits
	explicit bool              // whether an acquire may ask for a lease of its own
	poll     time.Duration     // between two tries of one that does not
	early    time.Duration     // how long before the end of its validity a careful user stops
	atOnce   int               // owners
	threads  []*thread
	observer *thread // nil if the workload has none

	closing  sync.Once
	closeErr error // of closing the lock handle
}

// NewClient returns client n of a run, with its process and its lock. Its first
// thread draws from rng.
func (r *Run) NewClient(n int, p *faults.Process, s locks.Session, stocks map[string]*Stock, rng *rand.Rand) *Client {
	c := &Client{
		work: r.Scenario.WorkloadOf(n), Proc: p, session: s, rec: r.Rec, owners: r.Owners, announce: r.Schedule.Moment, settle: r.Settle, stocks: stocks,
		claims: r.Lock.Terms(r.Scenario.Setting()), unasked: r.defaultLease(r.Scenario.WorkloadOf(n)),
		waits: r.Lock.Claims.Waits, explicit: r.Lock.Claims.Explicit, poll: cmp.Or(time.Duration(r.Scenario.Workload.Poll), r.Scenario.Scaled(locks.DefaultPoll)),
		early: r.Early,
	}
	places := r.Lock.Claims.Capacity() // so many owners stand for each of the workload, and fill the lock
	switch {
	case c.work.Alone:
		places = 1
	case r.Lock.Claims.ReadWrite:
		places = 2 // a writer and a reader
	}
	c.atOnce = c.work.AtOnce() * places
	for i := range c.atOnce {
		if i > 0 {
			rng = random.Stream(r.Seed, "workload", p.Name(), fmt.Sprint(i+1))
		}
		t := &thread{Client: c, number: i + 1, rng: rng}
		if reads := i%places == 1 || c.work.Alone && n < r.Scenario.Topology.Clients; reads && r.Lock.Claims.ReadWrite {
			t.home = reading
		}
		if more := (i + n - 1) % min(r.Lock.Claims.Capacity(), max(c.work.Permits, 1)); more > 0 {
			t.home.Permits = 1 + more
		}
		switch reads := t.home == reading; c.work.Turn {
		case "downgrades":
			t.turns = !reads
		case "upgrades":
			t.turns = reads && n == 1
		}
		c.threads = append(c.threads, t)
	}
	if c.work.Observe > 0 {
		c.observer = &thread{Client: c, number: c.atOnce + 1, rng: random.Stream(r.Seed, "observer", p.Name())}
	}
	return c
}

// run plays the workload of all threads.
func (c *Client) run(ctx context.Context) {
	for _, t := range c.threads { // one after the other: a lock may draw at random for each
		t.newOwner()
	}
	var all, beside sync.WaitGroup
	working, finished := context.WithCancel(ctx)
	if c.observer != nil {
		beside.Go(func() { c.observer.observe(working) })
	}
	for _, t := range c.threads[1:] {
		all.Go(func() { t.run(ctx) })
	}
	c.threads[0].run(ctx)
	all.Wait()
	finished()
	beside.Wait()
}

// closeSession closes the lock handle once.
func (c *Client) closeSession() {
	c.closing.Do(func() { c.closeErr = c.session.Close() })
}

// Close closes the lock handle, unless it is closed.
func (c *Client) Close() error {
	c.closeSession()
	if c.closeErr != nil {
		return fmt.Errorf("close lock of %s: %w", c.Proc.Name(), c.closeErr)
	}
	return nil
}

// shutdown closes the lock handle in the middle of work.
func (c *Client) shutdown() {
	done := c.rec.closing(c.Proc.Name())
	c.closeSession()
	if c.settle != nil {
		c.settle(c.Proc.Name() + "~") // after the operations that the close ends
	}
	done()
}

// sleep waits for d, or until the process crashes or ctx ends.
func (c *Client) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.Proc.Dead().Done():
	}
}
