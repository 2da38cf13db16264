package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// crowdCost is the cost of many holds or waiters of one client.
type crowdCost struct {
	bytes      float64 // of heap and stacks, for each
	goroutines float64 // for each, without that of its caller
	requests   float64 // per second, of all together
}

// crowd is one client with many holds, and with as many waiters for one lock.
type crowd struct {
	holds, waiters crowdCost
	left           int // goroutines after Close that were not there before
}

// measureCrowd measures what n holds and n waiters of one client cost.
func measureCrowd(ctx context.Context, srv *server, s contender, n int, lease time.Duration) (cost crowd, err error) {
	before := usageNow()
	c, err := s.open(ctx, srv.addr, lease)
	if err != nil {
		return cost, err
	}
	open := true
	defer func() {
		if open {
			err = errors.Join(err, c.close())
		}
	}()
	if cost.holds, err = crowdOfHolds(ctx, srv, c, n, lease/3); err != nil {
		return cost, fmt.Errorf("hold %d locks: %w", n, err)
	}
	if cost.waiters, err = crowdOfWaiters(ctx, srv, c, n, lease/3); err != nil {
		return cost, fmt.Errorf("wait %d times: %w", n, err)
	}
	open = false
	if err := c.close(); err != nil {
		return cost, err
	}
	cost.left = goroutinesLeft(before.goroutines)
	return cost, srv.flush(ctx)
}

func crowdOfHolds(ctx context.Context, srv *server, c client, n int, span time.Duration) (crowdCost, error) {
	first, err := c.acquire(ctx, "bench:first", "1") // connections are no part of the cost
	if err != nil {
		return crowdCost{}, err
	}
	before := usageNow()
	holds := make([]hold, n)
	if err := each(n, func(i int) (err error) {
		holds[i], err = c.acquire(ctx, "bench:held:"+strconv.Itoa(i), "1")
		return err
	}); err != nil {
		return crowdCost{}, err
	}
	cost, err := costOf(ctx, srv, before, n, 0, span)
	if err != nil {
		return cost, err
	}
	return cost, errors.Join(first.release(ctx), each(n, func(i int) error { return holds[i].release(ctx) }))
}

func crowdOfWaiters(ctx context.Context, srv *server, c client, n int, span time.Duration) (crowdCost, error) {
	holder, err := c.acquire(ctx, "bench:crowd", "holder")
	if err != nil {
		return crowdCost{}, err
	}
	before := usageNow()
	waits, leave := context.WithCancel(ctx)
	defer leave()
	var all sync.WaitGroup
	got := make(chan string, n) // by those who did not wait
	for i := range n {
		all.Go(func() {
			if _, err := c.acquire(waits, "bench:crowd", strconv.Itoa(i)); !errors.Is(err, context.Canceled) {
				got <- fmt.Sprintf("waiter %d did not wait: %v", i, err)
			}
		})
	}
	if err := quiet(ctx, srv, n); err != nil {
		return crowdCost{}, err
	}
	cost, err := costOf(ctx, srv, before, n, 1, span)
	if err != nil {
		return cost, err
	}
	leave()
	all.Wait()
	select {
	case what := <-got:
		return cost, errors.New(what)
	default:
		return cost, holder.release(ctx)
	}
}

// quiet returns when n waiters have asked for the lock and found it taken. The server has
// got that many requests then, and hardly one more for a while.
func quiet(ctx context.Context, srv *server, n int) error {
	start, _, err := srv.scriptCalls(ctx)
	if err != nil {
		return err
	}
	last := start
	for range 300 {
		pause(ctx, 200*time.Millisecond)
		calls, _, err := srv.scriptCalls(ctx)
		if err != nil {
			return err
		}
		if calls-start >= n/2 && calls-last < n/100 {
			return nil
		}
		last = calls
	}
	return fmt.Errorf("%d waiters still send requests after a minute", n)
}

// costOf is the cost of n holds or waiters since a usage, with own goroutines each. It
// adds the requests that they cost from now on, for the given span.
func costOf(ctx context.Context, srv *server, before usage, n, own int, span time.Duration) (crowdCost, error) {
	calls, _, err := srv.scriptCallsIn(ctx, span)
	if err != nil {
		return crowdCost{}, err
	}
	now := usageNow()
	each := float64(n)
	return crowdCost{
		bytes:      float64(now.bytes-before.bytes) / each,
		goroutines: float64(now.goroutines-before.goroutines)/each - float64(own),
		requests:   float64(calls) / span.Seconds(),
	}, ctx.Err()
}

// usage is the memory and processor time of the process.
type usage struct {
	bytes      int64
	goroutines int
}

func usageNow() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()}
}

// goroutinesLeft counts the goroutines beyond before. Those that are about to end
// have a second for that.
func goroutinesLeft(before int) int {
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine() - before
}

// crowdReport writes the table of crowds and adds its bars.
func crowdReport(w io.Writer, b *bars, contenders []contender, n int, costs []crowd) {
	t := newTable(w, fmt.Sprintf("%d of one client", n), "memory for each", "goroutines for each", "requests per second", "goroutines left after Close")
	for i, s := range contenders {
		for _, part := range []struct {
			what string
			cost crowdCost
		}{{"holds", costs[i].holds}, {"waiters for one lock", costs[i].waiters}} {
			t.row(s.label()+", "+part.what, fmt.Sprintf("%.1f KB", part.cost.bytes/1024), fmt.Sprintf("%.2f", max(0, part.cost.goroutines)),
				fmt.Sprintf("%.1f", part.cost.requests), fmt.Sprint(costs[i].left))
			b.add(fmt.Sprintf("crowd, %s, %d %s: no goroutine each, and none left", s.name, n, part.what),
				fmt.Sprintf("%.2f, %d", max(0, part.cost.goroutines), costs[i].left), part.cost.goroutines < 0.01 && costs[i].left == 0)
		}
		requests := costs[i].waiters.requests
		b.add(fmt.Sprintf("crowd, %s, %d waiters for one lock: at most 10 requests per second", s.name, n), fmt.Sprintf("%.1f", requests), requests <= 10)
	}
}
