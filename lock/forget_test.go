package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// A named owner may leave its lock to the lease. Then its client forgets the lock, and
// the owner can acquire it again.
func TestClient_forgetsWhatIsLeftToTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c, brief := w.client(), w.client(lock.WithUnlockTimeout(100*time.Millisecond))
		var owners []weak.Pointer[byte]
		for i := range 20 {
			owner := strings.Repeat(string(rune('A'+i)), 1000)
			owners = append(owners, weak.Make(unsafe.StringData(owner)))
			must[lock.Grant](t)(c.NewLock("orders-"+strconv.Itoa(i), owner).Lock(ctx, lock.Lease(time.Second)))
		}
		for i := range 20 { // these are released long before the end
			owner := strings.Repeat(string(rune('a'+i)), 1000)
			owners = append(owners, weak.Make(unsafe.StringData(owner)))
			l := c.NewLock("released-"+strconv.Itoa(i), owner)
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Hour)))
			must[int](t)(l.Unlock(ctx))
		}
		for i := range 20 { // the server answers these releases after their callers have gone
			owner := strings.Repeat(string(rune('A'+i)), 1001)
			owners = append(owners, weak.Make(unsafe.StringData(owner)))
			l := brief.NewLock("unknown-"+strconv.Itoa(i), owner)
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Second)))
			w.hung.Store(true)
			_, err := l.Unlock(ctx)
			wantErr(t, "unlock", err, lock.ErrUnknown)
			w.hung.Store(false)
		}
		again := c.NewLock("left", "a")
		must[lock.Grant](t)(again.Lock(ctx, lock.Lease(time.Second)))
		time.Sleep(time.Minute)
		if left := inUse(owners); left > 2 { // connections may know the last one
			t.Errorf("%d of 60 owners are in use a minute after their leases", left)
		}
		must[lock.Grant](t)(again.Lock(ctx))
	})
}

// A client keeps nothing of 10,000 waiters for one lock, of 10,000 holds at once, and of
// 100,000 names that were used once. A crowd leaves structures of its goroutines to the
// runtime, and more of them the busier the machine is. A leak grows with every crowd.
func TestClient_forgetsACrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	ctx := t.Context()
	c := realClient(t, redis.NewClient(&redis.Options{Addr: redisServer(t)}), lock.WithFencing())
	play := func(names int) {
		for _, acquire := range []func(ctx context.Context) (*lock.Hold, error){
			func(ctx context.Context) (*lock.Hold, error) { return c.Acquire(ctx, "plain") },
			func(ctx context.Context) (*lock.Hold, error) { return c.NewFairLock("fair").Acquire(ctx) },
		} {
			h := must[*lock.Hold](t)(acquire(ctx))
			brief, cancel := context.WithTimeout(ctx, 2*time.Second)
			crowd(t, 10000, 10000, func(int) error {
				if _, err := acquire(brief); err == nil {
					return errors.New("two calls hold the lock")
				}
				return nil
			})
			cancel()
			crowd(t, 1, 1, func(int) error { return h.Release(ctx) })
		}
		holds := make([]*lock.Hold, 10000)
		crowd(t, len(holds), 16, func(i int) (err error) {
			holds[i], err = c.Acquire(ctx, fmt.Sprint("hold-", i))
			return err
		})
		crowd(t, len(holds), 16, func(i int) error { return holds[i].Release(ctx) })
		crowd(t, names, 16, func(i int) error {
			return c.Do(ctx, fmt.Sprint("once-", i), func(context.Context, *lock.Hold) error { return nil })
		})
	}
	play(100)
	before := settledMemory(0)
	for tries := 3; ; tries-- {
		play(100000)
		now := settledMemory(before + 1<<20)
		if now <= before+1<<20 {
			return
		}
		if tries == 1 {
			t.Fatalf("%d KB are in use, %d KB before the last crowd", now>>10, before>>10)
		}
		before = now
	}
}

// crowd calls f for each of n, atOnce at a time.
func crowd(t *testing.T, n, atOnce int, f func(i int) error) {
	t.Helper()
	places := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		wg.Go(func() {
			if err := f(i); err != nil {
				t.Error(err)
			}
			<-places
		})
	}
	wg.Wait()
}

// settledMemory waits until the heap that is in use, in bytes, is as small as this. It
// waits for some seconds at most, because timers and subscriptions last for as long.
func settledMemory(enough uint64) (inUse uint64) {
	var m runtime.MemStats
	for shrinks := 7; shrinks > 0; shrinks-- {
		runtime.GC()
		runtime.ReadMemStats(&m)
		if inUse = m.HeapAlloc; inUse <= enough {
			break
		}
		time.Sleep(time.Second)
	}
	return inUse
}
