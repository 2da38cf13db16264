package play

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/lock"
)

// thread plays the workload of one owner at a time. Several threads of a client
// run concurrently, on the same lock handle.
type thread struct {
	*Client
	number int           // from 1, within the client
	home   history.Share // what it asks for
	turns  bool          // to the other mode as well, within a critical section
	rng    *rand.Rand    // latencies of the resource, and a little unevenness
	named  bool          // whether a grant has named its validity

	present int // the number of the present owner
	// unclear is set by an unknown outcome: the old owner may still hold something.
	// So the next critical section that is within no other begins with a new owner,
	// unless the workload goes on with the same.
	unclear bool
	base    string // the name of the owner in the mode of home
	lockers map[view]lock.Locker
	section // the present one
}

// section is a critical section.
type section struct {
	lock   string
	share  history.Share // home, or the other mode
	owner  string
	locker lock.Locker
	stock  *Stock
	loss   *loss // of the present hold, nil without one
	last   bool  // no critical section follows
}

// run plays all critical sections. It returns early when the process crashes or ctx ends.
func (c *thread) run(ctx context.Context) {
	defer c.notePanic()
	c.sleep(ctx, time.Duration(c.work.Start)+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
	for hold := range c.work.Holds {
		if ctx.Err() != nil || !c.proceed() {
			return
		}
		if c.unclear && !c.work.SameOwner {
			c.newOwner()
		}
		c.turnTo(hold)
		c.last = hold == c.work.Holds-1
		c.critical(ctx)
		if !c.work.Herd {
			c.sleep(ctx, time.Duration(c.work.Rest)+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
		}
	}
}

// notePanic records a panic of the lock, which it ends.
func (c *thread) notePanic() {
	if p := recover(); p != nil {
		c.rec.Add(history.Event{Kind: history.Note, F: history.Panic, Client: c.Proc.Name(), Owner: c.owner,
			Result: &history.Result{Message: fmt.Sprint(p), Stack: goroutines.Plain(strings.TrimRight(string(debug.Stack()), "\n"))}})
	}
}

// turnTo selects the lock of a critical section, in turn. The owners of a client begin with
// different ones, so that it has to do with all of them at once, unless each holds all.
func (c *thread) turnTo(hold int) {
	names, next := c.work.Names(), hold+c.number-1
	if c.work.Together {
		next = 0
	}
	c.enter(names[next%len(names)])
}

// enter selects a lock.
func (c *thread) enter(lock string) {
	c.section = section{lock: lock, stock: c.stocks[lock]}
	c.face(c.home)
}

// within plays a critical section of the next lock within the present one, if the workload
// holds all of them together.
func (c *thread) within(ctx context.Context) {
	names := c.work.Names()
	next := slices.Index(names, c.lock) + 1
	if !c.work.Together || next == len(names) || c.loss.mustEnd() || !c.proceed() {
		return
	}
	outer, stop := c.section, c.listen(c.loss)
	defer func() { c.section = outer; stop() }()
	c.enter(names[next])
	c.critical(ctx)
}

// critical is one critical section: lock, read, think, write, unlock.
func (c *thread) critical(ctx context.Context) {
	lease := time.Duration(0)
	if c.work.Explicit {
		lease = time.Duration(c.work.Lease)
	}
	grant, ok := c.acquire(ctx, lease)
	if !ok {
		return
	}
	c.loss = c.lossOfHold(grant)
	defer func() { c.loss = nil }()
	base, read := int64(0), false
	if c.stock != nil && !c.loss.overstayed() {
		base, read = c.readStock(ctx, 0, grant.Token)
	}
	held := 1
	if c.claims.Reentrant {
		for _, l := range c.work.Nested {
			if c.loss.overstayed() {
				break
			}
			inner, ok := c.acquire(ctx, time.Duration(l))
			if !ok {
				break
			}
			c.loss.nested(inner.Until)
			held++
		}
	}
	for ; c.work.Unnest && held > 1; held-- {
		if !c.giveBack(ctx, held) {
			return
		}
	}
	second, turned := c.turn(ctx, lease)
	defer c.face(c.home)
	gone := c.work.Extend > 0 && !c.loss.overstayed() && !c.extend(ctx)
	if !gone {
		c.within(ctx)
	}
	heeded := gone || c.think(ctx)
	if !c.proceed() {
		return
	}
	if (read || c.stock == nil) && !heeded {
		c.announce(faults.Moment{Name: faults.Writing, Client: c.Proc.Name(), Op: "background"})
		if !c.proceed() {
			return
		}
		switch {
		case c.stock == nil: // a semaphore guards none
		case c.home == reading && !turned:
			c.readStock(ctx, base, grant.Token)
		default:
			c.writeStock(ctx, base, grant.Token)
		}
		c.loss.overstayed()
	}
	switch {
	case !turned || !c.proceed():
	case c.home == reading:
		c.readOn(ctx, lock.Grant{})
	default:
		if c.readOn(ctx, second); read && !heeded && !c.think(ctx) {
			c.readStock(ctx, base-1, grant.Token)
		}
	}
	for ; held > 0; held-- {
		if !c.giveBack(ctx, held) {
			return
		}
	}
}

// acquire takes the lock once; ok is false without a grant. If the acquires of the lock
// do not wait, it repeats them until the wait is over, as users of such a lock do.
func (c *thread) acquire(ctx context.Context, explicit time.Duration) (g lock.Grant, ok bool) {
	if !c.polls() {
		g, kind := c.try(ctx, explicit, time.Duration(c.work.Wait))
		return g, kind == history.OK
	}
	for end := time.Now().Add(time.Duration(c.work.Wait)); ; {
		g, kind := c.try(ctx, explicit, 0)
		if kind != history.Fail || ctx.Err() != nil || !c.proceed() || !time.Now().Add(c.poll).Before(end) {
			return g, kind == history.OK
		}
		c.sleep(ctx, c.poll+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
		if ctx.Err() != nil || !c.proceed() {
			return lock.Grant{}, false
		}
	}
}

// gone is the outcome of an operation whose process is dead.
const gone history.Kind = ""

// try makes one acquire and returns its outcome.
func (c *thread) try(ctx context.Context, explicit, wait time.Duration) (lock.Grant, history.Kind) {
	opts := []lock.AcquireOption{lock.Wait(wait)}
	args := &history.Args{Share: c.share, Wait: int64(wait)}
	if c.share != c.home {
		args.Self = c.base
	}
	if c.claims.Lease {
		args.Lease, args.Renewed = int64(c.unasked), c.claims.Renewal
		if explicit > 0 && c.explicit {
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
	called := time.Now()
	nested := c.loss // of the hold that this one is to be within
	if nested != nil {
		defer c.listen(nested)()
	}
	unmark := goroutines.Mark(op.Owner)
	g, err := c.locker.TryLock(ctx, opts...)
	unmark()
	if !c.proceed() {
		return g, gone
	}
	if nested != nil {
		nested.mustEnd()
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
	c.rec.Finish(op, history.OK, history.Result{Count: g.Count, Token: g.Token, Until: c.rec.sinceStart(g.Until)})
	c.named = c.named || !g.Until.IsZero()
	g.Until = c.validity(g, called, time.Duration(args.Lease))
	c.announce(moment)
	if !c.proceed() {
		return g, gone
	}
	return g, history.OK
}

// validity is a locker that states the end of its hold's validity at any time.
type validity interface {
	Until() time.Time
}

// extend extends the innermost hold. It reports whether the owner may go on: the lock has
// not reported that the hold is gone.
func (c *thread) extend(ctx context.Context) (held bool) {
	ctx, done := c.Proc.Begin(ctx, "extend")
	defer done()
	d := time.Duration(c.work.Extend)
	op, ok := c.begin(history.Extend, "extend", &history.Args{Lease: int64(d)})
	if !ok {
		return false
	}
	defer c.listen(c.loss)()
	called, before := time.Now(), c.stated()
	err := error(errors.ErrUnsupported)
	if x, ok := c.locker.(lock.Extender); ok {
		err = x.Extend(ctx, d)
	}
	if !c.proceed() {
		return false
	}
	told, stated := c.loss.mustEnd(), c.stated()
	if err == nil {
		until := called.Add(d)
		if !stated.IsZero() {
			until = stated
		}
		c.rec.Finish(op, history.OK, history.Result{Until: c.rec.sinceStart(stated)})
		c.loss.extended(until.Add(-c.early))
		return !told
	}
	kind, class := classify(err)
	r := history.Result{Error: class, Message: err.Error()}
	over := class == history.ErrLost || class == history.ErrNotHeld
	if !over && stated.After(before) { // the user believes what the lock says now
		r.Until = c.rec.sinceStart(stated)
		c.loss.extended(stated.Add(-c.early))
	}
	c.rec.Finish(op, kind, r)
	if over {
		c.loss.mustEndAs(history.Lost)
		return false
	}
	return !told
}

// stated is the end of the hold's validity by the lock, or zero if it states none.
func (c *thread) stated() time.Time {
	if v, ok := c.locker.(validity); ok {
		return v.Until()
	}
	return time.Time{}
}

// proceed waits while the process is paused. It returns false if the process has
// crashed. In virtual time the threads of a process leave a pause one after the other.
func (c *thread) proceed() bool { return c.proceedAs("/", false) }

// proceedAs is proceed for a goroutine with a part in the thread. One that was woken by a
// loss takes its turn as well, and one whose client closes: either may wake several at once.
func (c *thread) proceedAs(part string, woken bool) bool {
	inTurn := woken || c.Proc.Paused() || c.rec.isClosing(c.Proc.Name())
	if !c.Proc.Gate() {
		return false
	}
	if inTurn && c.settle != nil {
		c.settle(fmt.Sprint(c.Proc.Name(), part, c.number))
	}
	return true
}

// begin announces and records the start of an operation; false means that the
// process is dead.
func (c *thread) begin(f history.Func, op string, a *history.Args) (history.Event, bool) {
	c.announce(faults.Moment{Name: faults.Invoked, Client: c.Proc.Name(), Op: op})
	if !c.proceed() {
		return history.Event{}, false
	}
	return c.rec.Invoke(history.Event{F: f, Client: c.Proc.Name(), Owner: c.owner, Lock: c.lock}, a), true
}

// settler is a locker in another process, which may know of a loss that has not
// been reported here.
type settler interface {
	Settle(ctx context.Context) error
}

// think works for the think time, or until the loss of the hold is known. It
// reports whether it stopped for that.
func (c *thread) think(ctx context.Context) (heeded bool) {
	t := time.NewTimer(time.Duration(c.work.Think) + time.Duration(c.rng.Int64N(int64(time.Millisecond))))
	defer t.Stop()
	over, stop := c.loss.over()
	defer stop()
	woken := false
	select {
	case <-t.C:
	case <-c.loss.signal:
		woken = true
	case <-over:
	case <-ctx.Done():
	case <-c.Proc.Dead().Done():
	}
	if !c.proceedAs("/", woken) {
		return true
	}
	if p, ok := c.locker.(settler); ok {
		_ = p.Settle(ctx) // a process that cannot answer fails the next operation as well
	}
	return c.loss.mustEndWithin(2 * longestHop) // a pause may have hidden the signal
}

// classify maps an error of the lock to the kind of its outcome and its one error class.
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
