package play

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// observe asks again and again who holds the locks of the workload, until ctx ends or the
// process crashes. The thread takes no lock.
func (c *thread) observe(ctx context.Context) {
	defer c.notePanic()
	of, ok := c.session.(locks.Observer)
	if !ok {
		return // its scenarios leave the lock out
	}
	number := fmt.Sprint(c.number)
	c.owner = c.Proc.Name() // it stands for its process, and holds nothing
	names := c.work.Names()
	ask := make([]func(context.Context) (string, error), len(names))
	for i, name := range names {
		ask[i] = of.Observer(name, number)
	}
	for {
		c.sleep(ctx, time.Duration(c.work.Observe)+time.Duration(c.rng.Int64N(int64(time.Millisecond))))
		for i, name := range names {
			if ctx.Err() != nil || !c.proceed() {
				return
			}
			c.lock = name
			c.lookAtHolder(ctx, ask[i])
		}
	}
}

// observerPatience is the longest time for one answer, in intervals of the observer.
const observerPatience = 8

// lookAtHolder asks once who holds the present lock.
func (c *thread) lookAtHolder(ctx context.Context, ask func(context.Context) (string, error)) {
	ctx, done := c.Proc.Begin(ctx, "observe")
	defer done()
	ctx, cancel := context.WithTimeout(ctx, observerPatience*time.Duration(c.work.Observe))
	defer cancel()
	op, ok := c.begin(history.Observe, "observe", nil)
	if !ok {
		return
	}
	value, err := ask(ctx)
	if !c.proceed() {
		return
	}
	if err != nil {
		kind, class := classify(err)
		if class == history.ErrOther {
			class = history.ErrUnknown // a question changes nothing, whatever its error
		}
		c.rec.Finish(op, kind, history.Result{Error: class, Message: err.Error()})
		return
	}
	c.rec.Finish(op, history.OK, history.Result{Holder: c.owners.ownerOf(c.lock, value)})
}
