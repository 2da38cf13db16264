package sim_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/sim"
)

// order notes who came first.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

// reading opens connections to every group and reads from each until it fails.
func reading(ctx context.Context, t *testing.T, w *sim.World, groups, each int, failed func(conn string)) (wait func()) {
	t.Helper()
	dial := w.Dialer(w.Process("client-1"))
	var readers sync.WaitGroup
	for g, addr := range w.Addresses(groups) {
		for n := range each {
			c, err := dial(ctx, "tcp", addr)
			must.Succeed(t, err)
			readers.Go(func() {
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("nobody sends anything: want an error")
				}
				failed(fmt.Sprintf("node-%d/%d", g+1, n+1))
			})
		}
	}
	return readers.Wait
}

func TestConnectionsThatBreakTogetherAreNoticedInOrder(t *testing.T) {
	want := []string{"node-1/1", "node-2/1", "node-3/1", "node-1/2", "node-2/2", "node-3/2"}
	for range 50 { // the scheduler gets it right now and then
		var noticed order
		in(t, sim.Options{Seed: 1, Clients: 1, Groups: 3}, func(ctx context.Context, w *sim.World) {
			wait := reading(ctx, t, w, 3, 2, noticed.add)
			for g := 3; g >= 1; g-- {
				must.Succeed(t, w.Reset(faults.Link{From: "client-1", To: fmt.Sprintf("node-%d", g)}))
			}
			wait()
		})
		if !slices.Equal(noticed.names, want) {
			t.Fatalf("broken connections were noticed in the order %v, want %v", noticed.names, want)
		}
	}
}

// Several owners of a process may open connections at one instant. The first to do so gets
// the first connection, whose messages have latencies of their own.
func TestDialsOfOneInstantHaveTheOrderOfTheirOwners(t *testing.T) {
	var first map[string]time.Duration
	for range 50 { // the scheduler gets it right now and then
		took := map[string]time.Duration{}
		in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, LatencyMax: time.Millisecond}, func(ctx context.Context, w *sim.World) {
			dial, addr, start := w.Dialer(w.Process("client-1")), w.Addresses(1)[0], time.Now()
			var mu sync.Mutex
			var dials sync.WaitGroup
			for _, owner := range []string{"client-1/3", "client-1/1", "client-1/2"} {
				dials.Go(func() {
					defer goroutines.Mark(owner)()
					_, err := dial(ctx, "tcp", addr)
					must.Succeed(t, err)
					mu.Lock()
					defer mu.Unlock()
					took[owner] = time.Since(start)
				})
			}
			dials.Wait()
		})
		if first == nil {
			first = took
		}
		if !maps.Equal(took, first) {
			t.Fatalf("the dials took %v, and before %v", took, first)
		}
	}
}

func TestDialsThatAPauseHeldUpNeverMeet(t *testing.T) {
	var at []time.Time
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		dial, addr := w.Dialer(w.Process("client-1")), w.Addresses(1)[0]
		must.Succeed(t, w.StopNode("node-1"))
		must.Succeed(t, w.Pause("client-1"))
		var mu sync.Mutex
		var dials sync.WaitGroup
		for range 3 {
			time.Sleep(time.Millisecond)
			dials.Go(func() {
				spent, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				if _, err := dial(spent, "tcp", addr); err == nil {
					t.Error("the server is down: want an error")
				}
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Now())
			})
		}
		time.Sleep(2 * time.Second)
		must.Succeed(t, w.Resume("client-1"))
		dials.Wait()
	})
	for i := range at[1:] {
		if at[i].Equal(at[i+1]) {
			t.Errorf("dials %d and %d of a resumed process failed at one instant, and will retry at one", i+1, i+2)
		}
	}
}

func TestSettleWaitsForWhatACancellationWakes(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		op, done := w.Process("client-1").Begin(ctx, "acquire")
		defer done()
		var noticed order
		var waiter sync.WaitGroup
		waiter.Go(func() {
			<-op.Done()
			noticed.add("the operation")
		})
		must.Succeed(t, w.Cancel("client-1", false))
		noticed.add("who cancelled it")
		waiter.Wait()
		if want := []string{"the operation", "who cancelled it"}; !slices.Equal(noticed.names, want) {
			t.Errorf("after a cancellation came %v, want %v", noticed.names, want)
		}
	})
}
