package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/stacks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// Stock is the guarded resource: a register on a machine of its own that
// every critical section takes one from. Fenced, it refuses a write whose
// token is older than one it has seen.
type Stock struct {
	Fenced bool

	mu    sync.Mutex
	Value int64
	token uint64
}

func (s *Stock) read() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Value
}

// write stores v and returns what it overwrote; false means refused.
func (s *Stock) write(v int64, token uint64) (was int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fenced {
		if token < s.token {
			return s.Value, false
		}
		s.token = token
	}
	was, s.Value = s.Value, v
	return was, true
}

// Client plays the workload of one client process.
type Client struct {
	work     scenarios.Workload
	Proc     *faults.Process
	session  subject.Session
	rec      *Recorder
	owners   *owners
	announce func(faults.Moment)
	stock    *Stock
	rng      *rand.Rand    // latencies of the resource, and a little unevenness
	renewed  bool          // whether a hold without an explicit lease is renewed
	lease    bool          // whether the lock has leases at all
	nests    bool          // whether the lock is reentrant
	waits    bool          // whether an acquire waits
	poll     time.Duration // between two tries of one that does not

	closing  sync.Once
	closeErr error // of closing the lock handle

	thread int // of the present owner
	// unclear is set by an outcome that nobody knows: the next critical section
	// begins with a new owner, as the old one may still hold something.
	unclear bool
	owner   string
	locker  lock.Locker
	loss    *loss // of the present hold, nil without one
}

// NewClient is client n of a run, in its process and with its lock.
func (r *Run) NewClient(n int, p *faults.Process, s subject.Session, shared *Stock, rng *rand.Rand) *Client {
	claims := r.Subject.Claims(r.Scenario.Setting())
	return &Client{
		work: r.Scenario.WorkloadOf(n), Proc: p, session: s, rec: r.Rec, owners: r.Owners, announce: r.Timeline.Moment, stock: shared,
		rng: rng, renewed: claims.Renewal, lease: claims.Lease, nests: claims.Reentrant,
		waits: r.Subject.Waits(), poll: cmp.Or(time.Duration(r.Scenario.Workload.Poll), r.Scenario.Scaled(subject.DefaultPoll)),
	}
}

// closeSession closes the lock handle once.
func (c *Client) closeSession() {
	c.closing.Do(func() { c.closeErr = c.session.Close() })
}

// Close closes the lock handle, if that has not been done.
func (c *Client) Close() error {
	c.closeSession()
	if c.closeErr != nil {
		return fmt.Errorf("close lock of %s: %w", c.Proc.Name(), c.closeErr)
	}
	return nil
}

// shutdown closes the lock handle in the middle of work.
func (c *Client) shutdown() {
	c.closeSession()
	c.rec.Add(history.Event{Kind: history.Note, F: history.Closed, Client: c.Proc.Name()})
}

// run plays all critical sections. It returns early when the process crashes
// or ctx ends.
func (c *Client) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			c.rec.Add(history.Event{Kind: history.Note, F: history.Panic, Client: c.Proc.Name(), Owner: c.owner,
				Result: &history.Result{Message: fmt.Sprintf("%v\n%s", p, stacks.Plain(strings.TrimRight(string(debug.Stack()), "\n")))}})
		}
	}()
	c.newOwner()
	c.sleep(ctx, time.Duration(c.work.Start)+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
	for range c.work.Holds {
		if ctx.Err() != nil || !c.Proc.Gate() {
			return
		}
		if c.unclear {
			c.newOwner()
		}
		c.critical(ctx)
		c.sleep(ctx, time.Duration(c.work.Rest)+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
	}
}

// newOwner begins a new thread of work.
func (c *Client) newOwner() {
	c.unclear = false
	c.thread++
	c.owner = fmt.Sprintf("%s/%d", c.Proc.Name(), c.thread)
	thread := fmt.Sprint(c.thread)
	c.owners.began(c.Proc.Name(), c.owner, c.session.Identity(thread))
	c.locker = c.session.Locker(c.work.Lock, thread)
}

// critical is one critical section: lock, read, think, write, unlock.
func (c *Client) critical(ctx context.Context) {
	lease := time.Duration(0)
	if c.work.Explicit {
		lease = time.Duration(c.work.Lease)
	}
	grant, ok := c.acquire(ctx, lease)
	if !ok {
		return
	}
	c.loss = c.lossOfHold()
	defer func() { c.loss = nil }()
	base, read := c.readStock(ctx)
	held := 1
	if c.nests {
		for _, l := range c.work.Nested {
			if _, ok := c.acquire(ctx, time.Duration(l)); !ok {
				break
			}
			held++
		}
	}
	for ; c.work.Unnest && held > 1; held-- {
		if !c.giveBack(ctx, held) {
			return
		}
	}
	heeded := c.think(ctx)
	if !c.Proc.Gate() {
		return
	}
	if read && !heeded {
		c.announce(faults.Moment{Name: faults.Writing, Client: c.Proc.Name(), Op: "background"})
		if !c.Proc.Gate() {
			return
		}
		c.writeStock(ctx, base, grant.Token)
	}
	for ; held > 0; held-- {
		if !c.giveBack(ctx, held) {
			return
		}
	}
}

// A client goes on asking for the release of an inner hold of which nobody
// knows what came of it, for longer than any fault of the catalogue lasts.
const (
	askEvery = 500 * time.Millisecond
	askFor   = 2 * time.Minute
)

// giveBack gives back the innermost of so many holds; false means that the
// owner is done for. While there are outer holds an outcome that nobody knows
// is not the end of it: who walked away would leave them held, and a watchdog
// renewing them for ever.
func (c *Client) giveBack(ctx context.Context, held int) bool {
	for end := time.Now().Add(askFor); ; {
		switch kind := c.release(ctx, held > 1); {
		case kind == history.OK:
			return c.Proc.Gate()
		case kind != history.Info || held == 1 || !time.Now().Before(end):
			return false
		}
		stop := c.listen(c.loss)
		c.sleep(ctx, askEvery)
		stop()
		if ctx.Err() != nil || !c.Proc.Gate() {
			return false
		}
	}
}

// acquire takes the lock once; ok is false when it was not granted. With a
// lock whose acquires do not wait it tries until the wait is over, as users of
// such a lock do.
func (c *Client) acquire(ctx context.Context, explicit time.Duration) (g lock.Grant, ok bool) {
	if c.waits {
		g, kind := c.try(ctx, explicit, time.Duration(c.work.Wait))
		return g, kind == history.OK
	}
	for end := time.Now().Add(time.Duration(c.work.Wait)); ; {
		g, kind := c.try(ctx, explicit, 0)
		if kind != history.Fail || ctx.Err() != nil || !c.Proc.Gate() || !time.Now().Add(c.poll).Before(end) {
			return g, kind == history.OK
		}
		c.sleep(ctx, c.poll+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
		if ctx.Err() != nil || !c.Proc.Gate() {
			return lock.Grant{}, false
		}
	}
}

// gone is how an operation ends of a process that is not there any more.
const gone history.Kind = ""

// try is one acquire, and how it ended.
func (c *Client) try(ctx context.Context, explicit, wait time.Duration) (lock.Grant, history.Kind) {
	opts := []lock.AcquireOption{lock.Wait(wait)}
	args := &history.Args{Wait: int64(wait)}
	if c.lease {
		args.Lease, args.Renewed = int64(c.work.Lease), c.renewed
		if explicit > 0 {
			opts = append(opts, lock.Lease(explicit))
			args.Lease, args.Renewed = int64(explicit), false
		}
	}
	ctx, done := c.Proc.Begin(ctx, "acquire")
	defer done()
	op, ok := c.begin(history.Acquire, "acquire", args)
	if !ok {
		return lock.Grant{}, gone
	}
	nested := c.loss // of the hold that this one is to be within
	if nested != nil {
		defer c.listen(nested)()
	}
	g, err := c.locker.TryLock(ctx, opts...)
	if !c.Proc.Gate() {
		return g, gone
	}
	if nested != nil {
		nested.heard()
	}
	moment := faults.Moment{Name: faults.Granted, Client: c.Proc.Name(), Op: "acquire"}
	if err != nil {
		kind, class := classify(err)
		c.rec.Finish(op, kind, history.Result{Error: class, Message: err.Error()})
		moment.Name = faults.Refused
		c.announce(moment)
		c.unclear = c.unclear || kind == history.Info
		return g, kind
	}
	c.rec.Finish(op, history.OK, history.Result{Count: g.Count, Token: g.Token})
	c.announce(moment)
	if !c.Proc.Gate() {
		return g, gone
	}
	return g, history.OK
}

// release gives one hold back, and returns how that ended. Whoever keeps outer
// holds meanwhile wants to know when they are lost.
func (c *Client) release(ctx context.Context, outer bool) history.Kind {
	ctx, done := c.Proc.Begin(ctx, "release")
	defer done()
	op, ok := c.begin(history.Release, "release", nil)
	if !ok {
		return gone
	}
	if outer {
		defer c.listen(c.loss)()
	}
	left, err := c.locker.Unlock(ctx)
	if !c.Proc.Gate() {
		return gone
	}
	if outer {
		c.loss.heard()
	}
	kind, class := history.OK, ""
	if err == nil {
		c.rec.Finish(op, history.OK, history.Result{Count: left})
	} else {
		kind, class = classify(err)
		c.rec.Finish(op, kind, history.Result{Error: class, Message: err.Error()})
	}
	c.announce(faults.Moment{Name: faults.Released, Client: c.Proc.Name(), Op: "release"})
	c.unclear = c.unclear || kind == history.Info
	return kind
}

// begin announces and records that an operation starts; false means that the
// process is gone.
func (c *Client) begin(f history.Func, op string, a *history.Args) (history.Event, bool) {
	c.announce(faults.Moment{Name: faults.Invoked, Client: c.Proc.Name(), Op: op})
	if !c.Proc.Gate() {
		return history.Event{}, false
	}
	return c.rec.Invoke(history.Event{F: f, Client: c.Proc.Name(), Owner: c.owner, Lock: c.work.Lock}, a), true
}

// settler is a locker in another process, which may know of a loss already
// that has not been told here.
type settler interface {
	Settle(ctx context.Context) error
}

// think works for the think time, or until the hold is known to be lost, which
// it then reports.
func (c *Client) think(ctx context.Context) (heeded bool) {
	t := time.NewTimer(time.Duration(c.work.Think) + time.Duration(c.rng.Int64N(int64(time.Millisecond))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.loss.signal:
	case <-ctx.Done():
	case <-c.Proc.Dead().Done():
	}
	if !c.Proc.Gate() {
		return true
	}
	if p, ok := c.locker.(settler); ok {
		_ = p.Settle(ctx) // who cannot answer fails the next operation as well
	}
	return c.loss.heard() // a pause may have hidden the signal
}

func (c *Client) readStock(ctx context.Context) (int64, bool) {
	op := c.rec.Invoke(history.Event{F: history.Read, Client: c.Proc.Name(), Owner: c.owner, Lock: c.work.Lock}, nil)
	c.sleep(ctx, c.hop())
	v := c.stock.read()
	c.sleep(ctx, c.hop())
	if !c.Proc.Gate() {
		return 0, false
	}
	c.rec.Finish(op, history.OK, history.Result{Value: v})
	return v, true
}

func (c *Client) writeStock(ctx context.Context, base int64, token uint64) {
	op := c.rec.Invoke(history.Event{F: history.Write, Client: c.Proc.Name(), Owner: c.owner, Lock: c.work.Lock},
		&history.Args{Value: base - 1, Base: base, Token: token})
	c.sleep(ctx, c.hop())
	if c.Proc.Crashed() {
		return
	}
	was, ok := c.stock.write(base-1, token)
	c.sleep(ctx, c.hop())
	if !c.Proc.Gate() {
		return
	}
	if !ok {
		c.rec.Finish(op, history.Fail, history.Result{Value: was, Error: history.ErrStale, Message: "a newer token was seen"})
		return
	}
	c.rec.Finish(op, history.OK, history.Result{Value: was})
}

// hop is the time of one message to or from the resource.
func (c *Client) hop() time.Duration {
	return 100*time.Microsecond + time.Duration(c.rng.Int64N(int64(400*time.Microsecond)))
}

// sleep waits d, or until the process crashes or ctx ends.
func (c *Client) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.Proc.Dead().Done():
	}
}

// classify maps an error of the lock to how the operation ended and to its
// one error class.
func classify(err error) (history.Kind, string) {
	switch {
	case errors.Is(err, lock.ErrUnknown):
		return history.Info, history.ErrUnknown
	case errors.Is(err, lock.ErrAcks):
		return history.Fail, history.ErrAcks
	case errors.Is(err, lock.ErrLost):
		return history.Fail, history.ErrLost
	case errors.Is(err, lock.ErrNotHeld):
		return history.Fail, history.ErrNotHeld
	case errors.Is(err, lock.ErrBusy):
		return history.Fail, history.ErrBusy
	case errors.Is(err, lock.ErrRefused):
		return history.Fail, history.ErrRefused
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, lock.ErrClosed):
		return history.Fail, history.ErrCanceled
	default:
		return history.Info, history.ErrOther
	}
}
