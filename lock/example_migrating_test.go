package lock_test

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// The code of docs/migrating.md; a test of the main module compares it with the page.

func migrateClient(rdb redis.UniversalClient) error {
	client, err := lock.New(rdb) // one for each Redis and process; rdb is a go-redis client
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

func migrateRedsync(ctx context.Context, client *lock.Client, work func(context.Context) error) error {
	h, err := client.Acquire(ctx, "orders", lock.Wait(10*time.Second))
	if errors.Is(err, lock.ErrBusy) {
		return nil // somebody else works
	}
	if err != nil {
		return err
	}
	defer h.Release(ctx)
	return work(h.Context()) // ends when the lock is lost
}

func migrateRedislock(ctx context.Context, client *lock.Client, ttl time.Duration) error {
	h, err := client.Acquire(ctx, "orders", lock.Lease(ttl), lock.Wait(0))
	if err != nil {
		return err
	}
	defer h.Release(ctx)
	if err := h.Extend(ctx, 2*ttl); err != nil { // from now on, and never shorter than before
		return err
	}
	return nil
}

func migrateRedisson(ctx context.Context, client *lock.Client, work func(context.Context) error) error {
	l := client.NewLock("orders", "worker-7")
	if _, err := l.TryLock(ctx, lock.Wait(5*time.Second)); err != nil {
		return err
	}
	defer l.Unlock(ctx)
	return work(l.Context(ctx))
}

// ExampleClient_Acquire_migrating plays the code of docs/migrating.md.
func ExampleClient_Acquire_migrating() {
	client, stop := start()
	defer stop()
	ctx := context.Background()
	work := func(ctx context.Context) error { return ctx.Err() }
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // to which nothing is sent
	defer rdb.Close()
	if err := errors.Join(
		migrateClient(rdb),
		migrateRedsync(ctx, client, work),
		migrateRedislock(ctx, client, time.Minute),
		migrateRedisson(ctx, client, work),
		fairWork(ctx, client, work),
	); err != nil {
		panic(err)
	}
	// Output:
}
