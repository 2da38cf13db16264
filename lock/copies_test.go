package lock_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// flow is the work of some owners with the lock "orders", step by step. A step returns
// what it came to.
type flow struct {
	name   string
	leases bool // a copy must not change the lease of the hold either
	steps  func(t *testing.T, w *world) []func() string
}

// played is a flow after each step: the result of the step, and the state of the lock.
type played struct {
	shown []string
	sent  []entry     // the script calls of the flow
	upTo  []int       // of them, those before the end of each step
	ends  []time.Time // of each step
}

// play plays a flow. One of its script calls loses its answer, so that the client sends it
// again. The first one arrives once more after one of the steps; -1 is none.
func (f flow) play(t *testing.T, after, again int) (p played) {
	inBubble(t, func(t *testing.T, w *world) {
		copies := w.redis()
		if after >= 0 {
			var calls atomic.Int64
			f := func(cmd string, _ []string) bool {
				if !strings.HasPrefix(strings.ToLower(cmd), "eval") {
					return false
				}
				return calls.Add(1) == int64(again)+1
			}
			w.drop.Store(&f)
		}
		for i, step := range f.steps(t, w) {
			came := step()
			synctest.Wait()
			time.Sleep(200 * time.Millisecond) // a request without an answer is sent again
			p.sent = nil
			for _, e := range w.arrived() {
				if strings.HasPrefix(strings.ToLower(e.cmd), "eval") {
					p.sent = append(p.sent, e)
				}
			}
			p.upTo, p.ends = append(p.upTo, len(p.sent)), append(p.ends, time.Now())
			request := []any{"PING"}
			if i == after && again < len(p.sent) { // a flow may send a look more or less
				request = p.sent[again].request()
			}
			copies.Do(t.Context(), request...) // no caller gets its answer
			p.shown = append(p.shown, came+"\n"+w.state(f.leases))
		}
	})
	return p
}

// state is who holds the lock and how often, and who has which place in its queue. With
// leases, the state has the rest of the hold as well.
func (w *world) state(leases bool) string {
	var b strings.Builder
	for _, owner := range w.owners("orders") {
		fmt.Fprintln(&b, "held by", owner, w.server.HGet("orders", owner))
	}
	if leases {
		fmt.Fprintln(&b, "for", w.server.TTL("orders").Round(time.Second))
	}
	queue, _ := w.server.ZMembers("holdfast_fair_queue:{orders}")
	places, _ := w.server.HKeys("holdfast_fair_places:{orders}")
	fmt.Fprintln(&b, "queue", queue, "places", places)
	return b.String()
}

// came words the outcome of a call.
func came(what any, err error) string { return fmt.Sprint(what, " ", err) }

// reentrantFlow has nested holds, with leases and without, and one that is renewed.
func reentrantFlow(t *testing.T, w *world) []func() string {
	ctx := t.Context()
	a, b := w.client().NewLock("orders", "1"), w.client().NewLock("orders", "1")
	lease := lock.Lease(20 * time.Second)
	locks := func(l *lock.Reentrant, opts ...lock.AcquireOption) func() string {
		return func() string {
			g, err := l.TryLock(ctx, opts...)
			return came(g.Count, err)
		}
	}
	unlocks := func(l *lock.Reentrant) func() string { return func() string { return came(l.Unlock(ctx)) } }
	return []func() string{
		locks(a), locks(a), unlocks(a), unlocks(a),
		locks(b, lease), locks(b, lease), unlocks(b), unlocks(b),
		locks(a, lease), locks(b, lock.Wait(30*time.Second)), unlocks(b),
		locks(a), func() string { time.Sleep(25 * time.Second); return "renewed" }, unlocks(a),
	}
}

// fairFlow has waiters that are granted the lock in turn, and one that gives up.
func fairFlow(t *testing.T, w *world) []func() string {
	ctx := t.Context()
	var holds []*lock.Hold
	locks := map[string]*lock.FairLock{}
	for _, who := range []string{"a", "b", "c"} {
		locks[who] = w.client().NewFairLock("orders")
	}
	took := make(chan string, 3)
	wait := func(who string, d time.Duration) func() string {
		return func() string {
			go func() {
				h, err := locks[who].Acquire(ctx, lock.Wait(d))
				if err == nil {
					holds = append(holds, h)
				}
				took <- came(who, err)
			}()
			return who + " waits"
		}
	}
	took1 := func() string { return <-took }
	release := func() string {
		h := holds[0]
		holds = holds[1:]
		return came("release", h.Release(ctx))
	}
	return []func() string{
		wait("a", time.Second), took1, wait("b", time.Minute), wait("c", time.Minute),
		release, took1, wait("a", time.Second), took1, // a gives up behind c
		release, took1, wait("b", 40*time.Second),
		release, took1, release,
	}
}

// A copy of any request may arrive at any later time: a client sends again what got no
// reply. It must not give the lock to anybody, nor take it away, nor move a waiter.
func TestCopies(t *testing.T) {
	for _, f := range []flow{{"reentrant", true, reentrantFlow}, {"fair", false, fairFlow}} {
		t.Run(f.name, func(t *testing.T) {
			plain, n := f.play(t, -1, 0), 0
			for step, requests := range plain.upTo {
				for again := range requests {
					if plain.ends[step].Sub(plain.sent[again].at) > 25*time.Second {
						continue // the server remembers an owner for half a minute
					}
					if n++; testing.Short() && n%8 != 0 {
						continue
					}
					with := f.play(t, step, again)
					for i := range plain.shown {
						if with.shown[i] != plain.shown[i] {
							args := with.sent[again].args
							t.Errorf("after step %d, request %d arrives once more, for %s. Step %d was\n%s\nand is\n%s", step, again, args[len(args)-6:], i, plain.shown[i], with.shown[i])
							break
						}
					}
				}
			}
		})
	}
}
