package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

func ExampleClient_Acquire() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := client.Acquire(ctx, "stock:42", lock.Wait(5*time.Second))
	if errors.Is(err, lock.ErrBusy) {
		fmt.Println("somebody else is at it: try later")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Release(ctx)
	fmt.Println("working:", hold.Context().Err() == nil)
	// Output: working: true
}

// ErrBusy: leave the work to the owner of the lock, which does it already.
func ExampleWait() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	report := func() {
		hold, err := client.Acquire(ctx, "nightly-report", lock.Wait(0))
		if errors.Is(err, lock.ErrBusy) {
			fmt.Println("another process writes the report")
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("writing the report")
		_ = hold // it is released when the report is written
	}
	report()
	report()
	// Output:
	// writing the report
	// another process writes the report
}

// ErrLost: another may have worked meanwhile. Undo the work, or check it.
func Example_lost() {
	client, stop := start()
	defer stop()

	err := client.Do(context.Background(), "stock:42", func(ctx context.Context, h *lock.Hold) error {
		select {
		case <-time.After(time.Minute): // the work takes longer than the lease
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, lock.Lease(50*time.Millisecond))
	fmt.Println("lost:", errors.Is(err, lock.ErrLost))
	// Output: lost: true
}

// ErrUnknown: the request may have been carried out. The lock takes it back by
// itself; if that does not arrive either, the lock is free after one lease.
func Example_unknown() {
	redisServer, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer redisServer.Close()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr(), ReadTimeout: 500 * time.Millisecond, MaxRetries: -1})
	defer rdb.Close()
	client, err := lock.New(rdb, lock.WithUnlockTimeout(100*time.Millisecond))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	end := make(chan struct{})
	defer close(end)
	redisServer.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
		if strings.HasPrefix(command, "EVAL") {
			<-end // later than the client waits
		}
		return false
	})

	_, err = client.Acquire(context.Background(), "stock:42", lock.Wait(0))
	fmt.Println("unknown:", errors.Is(err, lock.ErrUnknown))
	// Output: unknown: true
}

// ErrRefused: nothing was done. It is safe to go on without the lock, or to ask
// another server.
func Example_refused() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}) // no server listens
	defer rdb.Close()
	client, err := lock.New(rdb)
	if err != nil {
		panic(err)
	}
	defer client.Close()

	_, err = client.Acquire(context.Background(), "stock:42")
	fmt.Println("refused:", errors.Is(err, lock.ErrRefused))
	// Output: refused: true
}

// ErrNotHeld: the hold was released before, which is a mistake in the program.
func Example_notHeld() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := client.Acquire(ctx, "stock:42")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hold.Release(ctx))
	fmt.Println("not held:", errors.Is(hold.Release(ctx), lock.ErrNotHeld))
	// Output:
	// <nil>
	// not held: true
}

// ErrAcks: the lock was free, but too few replicas confirmed the grant, so it was
// given back.
func Example_acks() {
	client, stop := start(lock.WithReplicaAcks(1, 50*time.Millisecond))
	defer stop()

	_, err := client.Acquire(context.Background(), "stock:42", lock.Wait(0)) // the server has no replica
	fmt.Println(err)
	// Output: lock: not enough replicas confirmed
}

// An error names a context that has ended, and a client that is closed.
func Example_ended() {
	client, stop := start()
	defer stop()

	if _, err := client.Acquire(context.Background(), "stock:42"); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Acquire(ctx, "stock:42")
	fmt.Println("deadline:", errors.Is(err, context.DeadlineExceeded))

	client.Close()
	_, err = client.Acquire(context.Background(), "stock:42")
	fmt.Println(err)
	// Output:
	// deadline: true
	// lock: client closed
}

// In a cluster a lock and all that belongs to it live in the slot of its name.
func Example_cluster() {
	node, err := miniredis.Run() // it says that it has all slots
	if err != nil {
		panic(err)
	}
	defer node.Close()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Addr()}})
	defer rdb.Close()
	client, err := lock.New(rdb)
	if err != nil {
		panic(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "stock:{warehouse-7}", func(context.Context, *lock.Hold) error {
		fmt.Println("in the slot of warehouse-7")
		return nil
	})
	fmt.Println(err)
	// Output:
	// in the slot of warehouse-7
	// <nil>
}

// Work that takes longer than thought asks for more time before it is over.
func ExampleHold_Extend() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := client.Acquire(ctx, "stock:42", lock.Lease(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Release(ctx)
	if hold.Remaining() < 5*time.Second {
		err = hold.Extend(ctx, 10*time.Second)
	}
	fmt.Println(err, hold.Remaining() > 9*time.Second)
	// Output: <nil> true
}

// A service that stops gives its locks back, so that others need not wait for the
// leases.
func ExampleClient_Shutdown() {
	client, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := client.Acquire(ctx, "stock:42")
	if err != nil {
		fmt.Println(err)
		return
	}
	work := hold.Context()
	fmt.Println(client.Shutdown(ctx))
	fmt.Println("released:", errors.Is(context.Cause(work), lock.ErrNotHeld))
	// Output:
	// <nil>
	// released: true
}
