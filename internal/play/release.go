package play

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// askEvery is the pause before a client asks again for a release of unknown
// outcome. It does so to the end of the run.
const askEvery = 500 * time.Millisecond

// giveBack releases the innermost of held holds; false means that the critical
// section is over. With outer holds an unknown outcome does not finish the owner:
// otherwise these would stay held, and a watchdog would renew them for ever. For
// the outermost hold it does, unless the workload repeats the release.
func (c *thread) giveBack(ctx context.Context, held int) bool {
	for {
		switch kind := c.release(ctx, held > 1); {
		case kind == history.OK:
			return c.proceed()
		case kind != history.Info || held == 1 && (!c.work.RetryRelease || c.last && c.work.Shutdown): // a second shutdown would find nothing to do
			return false
		}
		stop := c.listen(c.loss)
		c.sleep(ctx, askEvery)
		stop()
		if ctx.Err() != nil || !c.proceed() {
			return false
		}
	}
}

// release releases one hold and returns the outcome. With outer holds it meanwhile
// listens for their loss.
func (c *thread) release(ctx context.Context, outer bool) history.Kind {
	ctx, done := c.Proc.Begin(ctx, "release")
	defer done()
	var args *history.Args
	if c.share.Permits > 1 {
		args = &history.Args{Share: c.share}
	}
	op, ok := c.begin(history.Release, "release", args)
	if !ok {
		return gone
	}
	if outer {
		defer c.listen(c.loss)()
	}
	alone := c.present == c.number // no earlier owner of this thread may still have a hold
	left, err := c.unlock(ctx, !outer && alone && c.last && c.work.Shutdown)
	if !c.proceed() {
		return gone
	}
	if outer {
		c.loss.mustEnd()
	}
	kind, class := history.OK, ""
	if err == nil {
		c.rec.Finish(op, history.OK, history.Result{Count: left})
	} else {
		if kind, class = classify(err); class == history.ErrRefused { // the hold is still there, and its owner may ask again
			kind, class = history.Info, history.ErrUnknown
		}
		c.rec.Finish(op, kind, history.Result{Error: class, Message: err.Error()})
	}
	c.announce(faults.Moment{Name: faults.Released, Client: c.Proc.Name(), Op: "release"})
	c.unclear = c.unclear || kind == history.Info
	return kind
}

// unlock releases one hold, or all of the process by a shutdown of its lock. A shutdown
// has no error for a hold that was lost before, so the notice of loss tells that.
func (c *thread) unlock(ctx context.Context, shutdown bool) (left int, err error) {
	s, ok := c.session.(locks.Leaver)
	if !ok || !shutdown {
		return c.locker.Unlock(ctx)
	}
	lost := lostSignOf(c.locker)
	c.closing.Do(func() {})                                        // the shutdown closes the lock handle
	if err := s.Shutdown(context.WithoutCancel(ctx)); err != nil { // it may leave holds behind when its context ends
		return 0, err
	}
	select {
	case <-lost:
		return 0, lock.ErrLost
	default:
		return 0, nil
	}
}
