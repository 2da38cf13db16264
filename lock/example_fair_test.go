package lock_test

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
)

// The code of docs/fair-lock.md; a test of the main module compares it with the page.

func fairWork(ctx context.Context, client *lock.Client, work func(context.Context) error) error {
	fair := client.NewFairLock("orders")
	h, err := fair.Acquire(ctx) // waits for its turn; lock.Wait bounds that
	if err != nil {
		return err
	}
	defer h.Release(ctx)
	return work(h.Context()) // ends when the lock is lost
}
