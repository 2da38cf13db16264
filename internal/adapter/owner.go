package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// due is the time for which a settle waits for timers that ran out in a pause.
const due = 2 * time.Millisecond

// owner is one owner's view of one lock in the process.
type owner struct {
	name, thread string
	locker       lock.Locker
	out          *printer
	over         <-chan struct{} // closed when the process is to exit

	mu      sync.Mutex
	current *hold
	watches []*hold // those whose loss is still to be reported
}

// hold is the part of an owner since its first acquire.
type hold struct {
	id   int64           // of that acquire
	lost <-chan struct{} // nil where the lock reports no loss
	gone chan struct{}   // closed when the hold is over
}

func (o *owner) do(ctx context.Context, r request) (a reply, after func()) {
	switch r.Do {
	case doAcquire:
		return o.acquire(ctx, r)
	case doRelease:
		return o.release(ctx), nil
	case doExtend:
		return o.extend(ctx, time.Duration(r.LeaseNS)), nil
	case doState:
		return o.state(ctx), nil
	}
	return o.settle(ctx), nil
}

func (o *owner) acquire(ctx context.Context, r request) (a reply, after func()) {
	try, opts := o.locker.TryLock, []lock.AcquireOption{lock.Wait(time.Duration(r.WaitNS))}
	if r.WaitNS < 0 {
		try, opts = o.locker.Lock, nil
	}
	if r.LeaseNS != 0 {
		opts = append(opts, lock.Lease(time.Duration(r.LeaseNS)))
	}
	g, err := try(ctx, opts...)
	if err != nil {
		return failure(err), nil
	}
	valid := int64(0)
	if !g.Until.IsZero() {
		valid = cmp.Or(int64(time.Until(g.Until)), -1) // 0 names none
	}
	h, fresh := o.granted(r.ID, g)
	a = reply{OK: true, Count: g.Count, Token: g.Token, LeaseNS: g.Lease.Nanoseconds(), Renewed: g.Renewed, ValidNS: valid, Hold: h.id}
	if fresh && h.lost != nil {
		after = func() { o.watch(h) } // its event must not overtake the reply
	}
	return a, after
}

// granted returns the hold that a grant belongs to. It is a fresh one when the
// lock says so by its count, or by another channel that tells of its loss.
func (o *owner) granted(id int64, g lock.Grant) (h *hold, fresh bool) {
	lost := o.lost()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current != nil && g.Count > 1 && o.current.lost == lost {
		return o.current, false
	}
	o.current = &hold{id: id, lost: lost, gone: make(chan struct{})}
	o.watches = append(o.watches, o.current)
	return o.current, true
}

func (o *owner) lost() <-chan struct{} {
	if n, ok := o.locker.(lock.LostNotifier); ok {
		return n.Lost()
	}
	return nil
}

// watch tells the harness when a hold is lost.
func (o *owner) watch(h *hold) {
	select {
	case <-h.lost:
		// Should it fail, out is broken, and with it all else.
		_ = o.out.print(message{Event: eventLost, Lock: o.name, Thread: o.thread, reply: reply{Hold: h.id}})
	case <-h.gone:
	case <-o.over:
	}
}

// forget ends the watching: nothing is held any more.
func (o *owner) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.watches {
		close(h.gone)
	}
	o.current, o.watches = nil, nil
}

func (o *owner) release(ctx context.Context) reply {
	left, err := o.locker.Unlock(ctx)
	if err == nil && left <= 0 || (errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrNotHeld)) && !errors.Is(err, lock.ErrUnknown) {
		o.forget()
	}
	if err != nil {
		return failure(err)
	}
	return reply{OK: true, Count: left}
}

func (o *owner) extend(ctx context.Context, lease time.Duration) reply {
	e, ok := o.locker.(lock.Extender)
	if !ok {
		return failure(fmt.Errorf("the lock cannot extend a hold: %w", errors.ErrUnsupported))
	}
	return result(e.Extend(ctx, lease))
}

// state asks the lock, which asks the servers.
func (o *owner) state(ctx context.Context) reply {
	c, ok := o.locker.(lock.HoldCounter)
	if !ok {
		return failure(fmt.Errorf("the lock does not count holds: %w", errors.ErrUnsupported))
	}
	n, err := c.HoldCount(ctx)
	if err != nil {
		return failure(err)
	}
	a := o.known()
	a.Count = n
	return a
}

// settle says what the process has learned by itself. When it has just been resumed, the
// timers that ran out meanwhile come first.
func (o *owner) settle(ctx context.Context) reply {
	t := time.NewTimer(due)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return o.known()
}

func (o *owner) known() reply {
	a := reply{OK: true}
	o.lost() // a lock may look at its clock
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current == nil {
		return a
	}
	a.Hold = o.current.id
	select {
	case <-o.current.lost:
		a.Lost = true
	default:
	}
	return a
}
