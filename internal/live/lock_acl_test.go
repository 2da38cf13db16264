package live

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/lock"
)

// rulesOfPage are the rules of a user that docs/server-requirements.md names.
func rulesOfPage(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/server-requirements.md")
	check(t, err)
	_, rest, found := strings.Cut(string(page), "    ACL SETUSER locks on >secret")
	if !found {
		t.Fatal("the page has no user")
	}
	text, _, _ := strings.Cut(rest, "\n\n")
	return strings.Fields(strings.ReplaceAll(text, "\\", " "))
}

// useLocks does all that the package can do on one server, and returns the first
// error. Waiters are woken by a message, or not in time.
func useLocks(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr, Username: "locks", Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true})
	defer rdb.Close()
	var seen scripts
	rdb.AddHook(&seen)
	opts := []lock.Option{lock.WithKeyPrefix("locks:"), lock.WithSafetyPoll(time.Minute), lock.WithUnlockTimeout(200 * time.Millisecond)}
	c, err := lock.New(rdb, append(opts, lock.WithFencing())...)
	if err != nil {
		return err
	}
	defer c.Close()
	wait := lock.Wait(700 * time.Millisecond)
	for _, take := range []func() (*lock.Hold, error){
		func() (*lock.Hold, error) { return c.Acquire(ctx, "orders", wait) },
		func() (*lock.Hold, error) { return c.NewFairLock("orders").Acquire(ctx, wait) },
	} {
		h, err := take()
		if err != nil {
			return err
		}
		asked := seen.of("orders")
		waited := make(chan error, 1)
		go func() {
			h, err := take()
			if err == nil {
				err = h.Release(ctx)
			}
			waited <- err
		}()
		tooLong, stop := context.WithTimeout(ctx, 400*time.Millisecond) // a user who may not subscribe asks once
		for range 2 {
			select {
			case <-asked:
			case <-tooLong.Done():
			}
		}
		stop()
		if err := errors.Join(h.Extend(ctx, time.Minute), h.Release(ctx), <-waited); err != nil {
			return err
		}
	}
	r, err := lock.New(rdb, append(opts, lock.WithRedissonFencing())...)
	if err != nil {
		return err
	}
	defer r.Close()
	l := r.NewLock("orders", "worker")
	for range 2 {
		if _, err := l.TryLock(ctx); err != nil {
			return err
		}
	}
	_, err1 := l.HoldCount(ctx)
	_, err2 := l.IsLocked(ctx)
	_, err3 := l.Unlock(ctx)
	_, err4 := l.ForceUnlock(ctx)
	return errors.Join(err1, err2, err3, err4)
}

// slow are rules whose use takes longer than a test may, or a cluster or replicas.
var slow = []string{"+ping", "+unsubscribe", "+wait", "+spublish", "+ssubscribe", "+sunsubscribe", "+command|info", "+cluster|slots"}

// A user with the rules of the page can do all that the lock does, and needs each of
// them.
func TestLock_rulesOfAUser(t *testing.T) {
	t.Parallel()
	all := rulesOfPage(t)
	admin := livetest.Dial(t, livetest.SpawnRedis(t, ""), "")
	if setup, err := useWithRules(t.Context(), admin, all); err != nil {
		t.Fatalf("with all rules: %v, %v", setup, err)
	}
	if refused := admin.Do(t.Context(), "acl", "dryrun", "locks", "flushall").Val(); refused == "OK" {
		t.Error("the user may do more")
	}
	// A missing rule shows when a wait is over, so several servers wait at once.
	lacking := make(chan int, len(all))
	for i, r := range all {
		if !slices.Contains(slow, r) {
			lacking <- i
		}
	}
	close(lacking)
	var trying sync.WaitGroup
	for range 4 {
		admin := livetest.Dial(t, livetest.SpawnRedis(t, ""), "")
		trying.Go(func() {
			for i := range lacking {
				setup, err := useWithRules(t.Context(), admin, slices.Delete(slices.Clone(all), i, i+1))
				if setup != nil || err == nil {
					t.Errorf("nothing needs %s (%v)", all[i], setup)
				}
			}
		})
	}
	trying.Wait()
}

// useWithRules lets a user with the given rules use an empty server.
func useWithRules(ctx context.Context, admin *redis.Client, rules []string) (setup, err error) {
	args := []any{"acl", "setuser", "locks", "reset", "on", ">secret"}
	for _, r := range rules {
		args = append(args, r)
	}
	if setup = errors.Join(admin.Do(ctx, args...).Err(), admin.FlushAll(ctx).Err(), admin.ScriptFlush(ctx).Err()); setup != nil {
		return setup, nil
	}
	return nil, useLocks(ctx, admin.Options().Addr)
}

// A server without memory refuses to grant, and goes on to renew and to release.
func TestLock_aServerWithoutMemory(t *testing.T) {
	t.Parallel()
	admin := livetest.Dial(t, livetest.SpawnRedis(t, "maxmemory-policy noeviction"), "")
	ctx := t.Context()
	c, err := lock.New(admin, lock.WithUnlockTimeout(300*time.Millisecond))
	check(t, err)
	defer c.Close()
	for _, fair := range []bool{false, true} {
		h, err := taker(fair)(ctx, c, "orders")
		check(t, err)
		check(t, admin.ConfigSet(ctx, "maxmemory", "1").Err())
		if _, err := c.Acquire(ctx, "stock", lock.Wait(0)); !errors.Is(err, lock.ErrRefused) {
			t.Errorf("acquire: %v", err)
		}
		if err := errors.Join(h.Extend(ctx, time.Minute), h.Release(ctx)); err != nil {
			t.Errorf("fair %v: %v", fair, err)
		}
		check(t, admin.ConfigSet(ctx, "maxmemory", "0").Err())
	}
}
