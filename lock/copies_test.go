package lock_test

import (
	"fmt"
	"strings"
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
	sent  []entry // the script calls of the flow
	upTo  []int   // of them, those before the end of each step
}

// play plays a flow. After one of the steps, a script call arrives once more; -1 is none.
func (f flow) play(t *testing.T, after, again int) (p played) {
	inBubble(t, func(t *testing.T, w *world) {
		copies := w.redis()
		for i, step := range f.steps(t, w) {
			came := step()
			synctest.Wait()
			time.Sleep(5 * time.Millisecond)
			p.sent = nil
			for _, e := range w.arrived() {
				if strings.HasPrefix(strings.ToLower(e.cmd), "eval") {
					p.sent = append(p.sent, e)
				}
			}
			p.upTo = append(p.upTo, len(p.sent))
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
	owners, _ := w.server.HKeys("orders") // without the lock there are none
	for _, owner := range owners {
		fmt.Fprintln(&b, "held by", owner, w.server.HGet("orders", owner))
	}
	if leases {
		fmt.Fprintln(&b, "for", w.server.TTL("orders"))
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
