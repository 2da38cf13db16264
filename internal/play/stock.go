package play

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Stock is the guarded resource: a register on a separate machine, from which every
// critical section subtracts one. If Fenced, it refuses a write with an older token than
// one that it has seen. With FencesReads it refuses such a read as well, as a
// transaction would.
type Stock struct {
	Fenced      bool
	FencesReads bool

	mu    sync.Mutex
	Value int64
	token uint64
}

// read returns the stock; false means refused.
func (s *Stock) read(token uint64) (is int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Value, !s.FencesReads || s.admits(token)
}

// admits reports whether the stock has seen no newer token.
func (s *Stock) admits(token uint64) bool {
	if token < s.token {
		return false
	}
	s.token = token
	return true
}

// write stores v and returns what it overwrote; false means refused.
func (s *Stock) write(v int64, token uint64) (was int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fenced && !s.admits(token) {
		return s.Value, false
	}
	was, s.Value = s.Value, v
	return was, true
}

// fenced reports whether the resources check tokens. Each lock guards its own
// resource, because tokens of different locks have no order.
func (r *Run) fenced() bool { return r.Lock.Claims.Fencing }

// fencesReads reports whether the stock checks the tokens of reads. It does so only for
// locks that are not built in, so that the histories of the others do not change.
func (r *Run) fencesReads() bool { return r.fenced() && r.Lock.ThirdParty != nil }

// hasStock reports whether the lock guards a resource: a semaphore of several permits
// does not.
func (r *Run) hasStock() bool { return r.Lock.Claims.Permits <= 1 }

// NewStocks returns the guarded resources of the run by the name of their lock.
// They check tokens as fenced and fencesReads say.
func (r *Run) NewStocks() map[string]*Stock {
	all := map[string]*Stock{}
	if !r.hasStock() {
		return all
	}
	for _, name := range r.Scenario.Workload.Names() {
		all[name] = &Stock{Fenced: r.fenced(), FencesReads: r.fencesReads(), Value: Initial}
	}
	return all
}

// readStock reads the stock. base is the value that a reader has read before under the
// same hold; 0 for none.
func (c *thread) readStock(ctx context.Context, base int64, token uint64) (int64, bool) {
	var args *history.Args
	if c.stock.FencesReads {
		args = &history.Args{Token: token, Base: base}
	} else if base != 0 {
		args = &history.Args{Base: base}
	}
	op := c.rec.Invoke(history.Event{F: history.Read, Client: c.Proc.Name(), Owner: c.owner, Lock: c.lock}, args)
	c.sleep(ctx, c.hop())
	v, ok := c.stock.read(token)
	c.sleep(ctx, c.hop())
	if !c.proceed() {
		return 0, false
	}
	if !ok {
		c.rec.Finish(op, history.Fail, stale(v))
		return 0, false
	}
	c.rec.Finish(op, history.OK, history.Result{Value: v})
	return v, true
}

func (c *thread) writeStock(ctx context.Context, base int64, token uint64) {
	op := c.rec.Invoke(history.Event{F: history.Write, Client: c.Proc.Name(), Owner: c.owner, Lock: c.lock},
		&history.Args{Value: base - 1, Base: base, Token: token})
	c.sleep(ctx, c.hop())
	if c.Proc.Crashed() {
		return
	}
	was, ok := c.stock.write(base-1, token)
	c.sleep(ctx, c.hop())
	if !c.proceed() {
		return
	}
	if !ok {
		c.rec.Finish(op, history.Fail, stale(was))
		return
	}
	c.rec.Finish(op, history.OK, history.Result{Value: was})
}

// stale is the refusal of a request with an old token.
func stale(value int64) history.Result {
	return history.Result{Value: value, Error: history.ErrStale, Message: "a newer token was seen"}
}

// hop is the latency of one message to or from the resource.
func (c *thread) hop() time.Duration {
	return 100*time.Microsecond + time.Duration(c.rng.Int64N(int64(longestHop-100*time.Microsecond)))
}
