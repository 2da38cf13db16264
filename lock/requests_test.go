package lock_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// The keys of the fair lock on the server, beside the lock itself.
const (
	queueKey  = "holdfast_fair_queue:{orders}"
	placesKey = "holdfast_fair_places:{orders}"
	tokenKey  = "holdfast_lock_token:{orders}"
)

// The beginnings of the scripts of the fair lock.
const (
	fairAcquires = "-- Takes the lock, or a place in its queue."
	fairLooks    = "-- Looks for many places"
	fairReleases = "-- Gives the lock back, and hands it on"
)

// arg is the n-th argument of a script call; the comments of the script number them.
func (e entry) arg(n int) string {
	keys, _ := strconv.Atoi(e.args[1])
	return e.args[1+keys+n]
}

// leaves returns the requests so far of owners that left the queue.
func (w *world) leaves() []entry {
	return slices.DeleteFunc(w.calls(fairReleases), func(e entry) bool { return e.arg(6) != "0" })
}

// takeBacks returns the requests so far that took back a first acquire of a lock that is not fair.
func (w *world) takeBacks() []entry {
	return slices.DeleteFunc(w.calls("-- Gives holds back"), func(e entry) bool { return e.arg(3) != "0" })
}

// runs returns which requests of those so far, and of later ones, run a script whose text
// contains part. The server must know the script by then.
func (w *world) runs(part string) func(e entry) bool {
	sums := map[string]bool{}
	for _, e := range w.arrived() {
		if strings.ToLower(e.cmd) == "eval" && strings.Contains(e.args[0], part) {
			sum := sha1.Sum([]byte(e.args[0]))
			sums[hex.EncodeToString(sum[:])] = true
		}
	}
	return func(e entry) bool {
		switch strings.ToLower(e.cmd) {
		case "eval":
			return strings.Contains(e.args[0], part)
		case "evalsha":
			return sums[e.args[0]]
		}
		return false
	}
}

// calls returns the requests so far that ran a script whose text contains part.
func (w *world) calls(part string) []entry {
	runs := w.runs(part)
	return slices.DeleteFunc(w.arrived(), func(e entry) bool { return !runs(e) })
}

// next waits for the next request that runs a script whose text contains part.
func (w *world) next(part string) entry {
	w.t.Helper()
	runs, seen := w.runs(part), len(w.arrived())
	for range 60_000 {
		time.Sleep(500 * time.Microsecond)
		w.mu.Lock()
		fresh := w.log[seen:]
		w.mu.Unlock()
		if i := slices.IndexFunc(fresh, runs); i >= 0 {
			synctest.Wait() // the server carries it out
			return fresh[i]
		}
		seen += len(fresh)
	}
	w.t.Fatalf("no request runs a script about %q", part)
	return entry{}
}

// knowsFair makes the server know the scripts of the fair lock, so that each request
// needs one command.
func (w *world) knowsFair() {
	w.t.Helper()
	ctx := w.t.Context()
	for _, give := range []bool{true, false} {
		h := must[*lock.Hold](w.t)(w.client().NewFairLock("orders").Acquire(ctx))
		waits, cancel := context.WithCancel(ctx)
		waiter := w.client().NewFairLock("orders")
		got := make(chan *lock.Hold, 1)
		go func() {
			h, _ := waiter.Acquire(waits)
			got <- h
		}()
		time.Sleep(100 * time.Millisecond)
		if give {
			if err := h.Release(ctx); err != nil {
				w.t.Fatal(err)
			}
			h = <-got
		} else {
			cancel()
			<-got
		}
		if err := h.Release(ctx); err != nil {
			w.t.Fatal(err)
		}
		cancel()
	}
	time.Sleep(2 * time.Second) // the subscriptions end
}

// warm returns a client of the world that has a connection.
func (w *world) warm(opts ...lock.Option) *lock.Client {
	w.t.Helper()
	rdb := w.redis()
	if err := rdb.Ping(w.t.Context()).Err(); err != nil {
		w.t.Fatal(err)
	}
	return w.clientOn(rdb, opts...)
}

// mortal returns a client whose connections carry nothing any more once they are cut.
// Those that it makes later do, unless the client is dead.
func (w *world) mortal(opts ...lock.Option) (c *lock.Client, cut func(dead bool)) {
	var mu sync.Mutex
	var links []*link
	gone := false
	rdb := w.redis(func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			conn, err := w.dial(ctx, network, addr)
			if err == nil {
				conn.(*link).mute.Store(gone)
				links = append(links, conn.(*link))
			}
			return conn, err
		}
	})
	return w.clientOn(rdb, opts...), func(dead bool) {
		mu.Lock()
		defer mu.Unlock()
		gone = dead
		for _, l := range links {
			l.mute.Store(true)
		}
	}
}

// waiting starts a waiter for the fair lock, whose hold comes through the channel; nil
// if it gets none within a minute.
func (w *world) waiting(ctx context.Context, c *lock.Client, opts ...lock.AcquireOption) <-chan *lock.Hold {
	got := make(chan *lock.Hold, 1)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	w.t.Cleanup(cancel)
	go func() {
		h, _ := c.NewFairLock("orders").Acquire(ctx, opts...)
		got <- h
	}()
	return got
}

// gives releases a hold that a waiter got.
func (w *world) gives(h *lock.Hold) {
	w.t.Helper()
	if h == nil {
		w.t.Fatal("the waiter has not got the lock")
	}
	if err := h.Release(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

// looksOf counts the looks so far for the place of an owner.
func (w *world) looksOf(owner string) int {
	n := 0
	for _, e := range w.calls(fairLooks) {
		if slices.Contains(e.args, owner) {
			n++
		}
	}
	return n
}

// queued lists the owners who have a place in the queue, first come first, and fails if
// the queue and the places differ.
func (w *world) queued() []string {
	w.t.Helper()
	queue, _ := w.server.ZMembers(queueKey) // an error: there is none
	places, _ := w.server.HKeys(placesKey)
	sorted := slices.Sorted(slices.Values(queue))
	if !slices.Equal(sorted, slices.Sorted(slices.Values(places))) {
		w.t.Errorf("in the queue are %v, and %v have a place", queue, places)
	}
	return queue
}

// owners returns the fields of the owners of a lock, of which there is one at most.
func (w *world) owners(name string) []string {
	fields, _ := w.server.HKeys(name)
	return slices.DeleteFunc(fields, func(f string) bool { return !strings.Contains(f, ":") })
}

// loseAnswers loses the answers to all scripts whose arguments contain part, from now on.
func (w *world) loseAnswers(part string) {
	f := func(cmd string, args []string) bool {
		return strings.HasPrefix(strings.ToLower(cmd), "eval") && strings.Contains(strings.Join(args, " "), part)
	}
	w.drop.Store(&f)
}

// fairHolder is an owner that has the lock, and the server has the scripts.
func (w *world) fairHolder() *lock.Hold {
	w.t.Helper()
	w.knowsFair()
	return must[*lock.Hold](w.t)(w.client(lock.WithID("holder")).NewFairLock("orders").Acquire(w.t.Context()))
}

// asked counts the acquires of an owner so far. One that was sent again counts once.
func (w *world) asked(owner string) int {
	serials := map[string]bool{}
	for _, e := range w.calls(fairAcquires) {
		if e.arg(4) == owner {
			serials[e.arg(5)] = true
		}
	}
	return len(serials)
}

// acquires is the beginning of the script of an acquire.
const acquires = "-- Takes one hold."

// loadScripts gives the server the scripts of a named lock.
func (w *world) loadScripts() {
	w.t.Helper()
	l := w.client().NewLock("orders", "first")
	must[lock.Grant](w.t)(l.Lock(w.t.Context()))
	must[int](w.t)(l.Unlock(w.t.Context()))
}

// tries counts the acquires of an owner so far.
func (w *world) tries(field string) int {
	n := 0
	for _, e := range w.calls(acquires) {
		if slices.Contains(e.args, field) {
			n++
		}
	}
	return n
}

// deadHolder makes somebody the holder of the lock who has died.
func (w *world) deadHolder(lease time.Duration) {
	w.server.HSet("orders", "dead:1", "1")
	if lease > 0 {
		w.server.SetTTL("orders", lease)
	}
}

// wantSpread fails unless requests come about once a second, at irregular intervals. So
// clients that began at one time do not go on in step. last is when the last one arrived.
func (w *world) wantSpread(part string, last time.Time) {
	w.t.Helper()
	var gaps []time.Duration
	for range 12 {
		at := w.next(part).at
		gap := at.Sub(last) - w.latency()
		if gap < 750*time.Millisecond || gap > time.Second {
			w.t.Errorf("a request %v after the last one", gap)
		}
		gaps, last = append(gaps, gap), at
	}
	slices.Sort(gaps)
	if gaps[len(gaps)-1]-gaps[0] < 50*time.Millisecond {
		w.t.Errorf("the requests come every %v", gaps[0])
	}
}
