package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// start runs a server for the examples; use your own Redis instead.
func start(opts ...lock.Option) (c *lock.Client, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	c, err = lock.New(rdb, opts...)
	if err != nil {
		panic(err)
	}
	return c, func() { c.Close(); rdb.Close(); server.Close() }
}

func Example() {
	client, stop := start()
	defer stop()

	err := client.Do(context.Background(), "stock:42", func(ctx context.Context, h *lock.Hold) error {
		// ctx ends when the lock is lost: give it to everything that works here.
		fmt.Println("working:", ctx.Err() == nil)
		return nil
	})
	fmt.Println(err)
	// Output:
	// working: true
	// <nil>
}

func ExampleClient_NewLock() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	l := client.NewLock("stock:42", "worker-1")
	if _, err := l.Lock(ctx); err != nil {
		fmt.Println(err)
		return
	}
	work := l.Context(ctx) // ends when the lock is lost
	fmt.Println("working:", work.Err() == nil)
	if _, err := l.Unlock(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("working:", work.Err() == nil)
	// Output:
	// working: true
	// working: false
}

func ExampleReentrant_TryLock() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	a, b := client.NewLock("stock:42", "a"), client.NewLock("stock:42", "b")
	g, err := a.TryLock(ctx, lock.Lease(10*time.Second))
	fmt.Println(g.Count, g.Lease, g.Renewed, err)

	_, err = b.TryLock(ctx, lock.Wait(500*time.Millisecond))
	fmt.Println("busy:", errors.Is(err, lock.ErrBusy))
	// Output:
	// 1 10s false <nil>
	// busy: true
}

// A holder that was paused for longer than its lease does not know it. The
// resource does, if it remembers the greatest token it has seen.
func ExampleWithFencing() {
	client, stop := start(lock.WithFencing())
	defer stop()
	ctx := context.Background()

	seen := uint64(0)
	write := func(token uint64) bool {
		if token < seen {
			return false
		}
		seen = token
		return true
	}
	a, b := client.NewLock("stock:42", "a"), client.NewLock("stock:42", "b")
	first, _ := a.Lock(ctx)
	a.ForceUnlock(ctx) // as if its lease had run out
	second, _ := b.Lock(ctx)
	fmt.Println("b writes:", write(second.Token))
	fmt.Println("a writes:", write(first.Token))
	// Output:
	// b writes: true
	// a writes: false
}

// An observer logs what must not go unseen.
func ExampleWithObserver() {
	client, stop := start(lock.WithObserver(lock.Observer{
		ReleaseDone: func(_ context.Context, r lock.ReleaseResult) {
			if r.Err != nil {
				fmt.Println("release of", r.Name+":", errors.Is(r.Err, lock.ErrNotHeld))
			}
		},
		Lost: func(name, owner string, held time.Duration) { fmt.Println("lost", name, "after", held) },
	}))
	defer stop()

	if _, err := client.NewLock("stock:42", "worker-1").Unlock(context.Background()); err == nil {
		fmt.Println("released a lock that was never taken")
	}
	// Output: release of stock:42: true
}

func ExampleNewMultiLock() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	both := lock.NewMultiLock(lock.GroupOptions{}, lock.Member{Client: client, Name: "from"}, lock.Member{Client: client, Name: "to"})
	err := both.Do(ctx, func(ctx context.Context, h *lock.GroupHold) error {
		_, err := client.Acquire(ctx, "to", lock.Wait(0))
		return err
	})
	fmt.Println(err)
	// Output: lock: busy
}

func ExampleNewRedLock() {
	var members []lock.Member
	for range 3 { // three servers, independent of each other
		client, stop := start()
		defer stop()
		members = append(members, lock.Member{Client: client, Name: "stock:42"})
	}
	r := lock.NewRedLock(lock.GroupOptions{}, members...)
	g, err := r.Lock(context.Background())
	fmt.Println(g.Count, g.Renewed, err)
	n, err := r.Unlock(context.Background())
	fmt.Println(n, err)
	// Output:
	// 1 true <nil>
	// 0 <nil>
}
