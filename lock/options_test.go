package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// The least duration of each option is accepted, and a nanosecond less is refused. Redis
// would read a wait of 0 as one without an end.
func TestNew_leastDurations(t *testing.T) {
	acks := func(d time.Duration) lock.Option { return lock.WithReplicaAcks(1, d) }
	for name, o := range map[string]struct {
		option func(time.Duration) lock.Option
		least  time.Duration
	}{
		"watchdog timeout": {lock.WithWatchdogTimeout, 10 * time.Millisecond},
		"safety poll":      {lock.WithSafetyPoll, time.Millisecond},
		"unlock timeout":   {lock.WithUnlockTimeout, time.Millisecond},
		"replica acks":     {acks, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				rdb := w.redis()
				if _, err := lock.New(rdb, o.option(o.least-1)); err == nil || !strings.Contains(err.Error(), fmt.Sprint("below ", o.least)) {
					t.Errorf("less than %v: %v", o.least, err)
				}
				c, err := lock.New(rdb, o.option(o.least))
				if err != nil {
					t.Fatalf("%v: %v", o.least, err)
				}
				c.Close()
			})
		})
	}
}

// Two clients with one id would share their holds. A client without an id of its own takes
// a random one, in which any two characters may differ.
func TestNew_takesARandomID(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rdb, seen := w.redis(), map[string]bool{}
		var characters []map[byte]bool
		for i := range 40 {
			c, err := lock.New(rdb)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprint("orders ", i)
			must[lock.Grant](t)(c.NewLock(name, "owner").TryLock(t.Context()))
			fields := w.owners(name)
			id, ok := strings.CutSuffix(fields[0], ":owner")
			if len(fields) != 1 || !ok || len(id) < 26 || strings.Contains(id, ":") || seen[id] {
				t.Fatalf("the server knows the owner as %q", fields)
			}
			seen[id] = true
			for i := range len(id) {
				if len(characters) == i {
					characters = append(characters, map[byte]bool{})
				}
				characters[i][id[i]] = true
			}
			c.Close()
		}
		for i, d := range characters {
			if len(d) <= 8 { // half of 32 values would be a bit that is no random one
				t.Errorf("character %d has only %d values in 40 ids", i, len(d))
			}
		}
	})
}

// A name with braces must be a hash tag, since other keys of the lock must be in its slot.
func TestNames_hashTags(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		for _, name := range []string{"orders", "{a}", "{a}b", "x{orders}y", "{a}{b}"} {
			if h, err := c.Acquire(t.Context(), name, lock.Wait(0)); err != nil {
				t.Errorf("%q is refused: %v", name, err)
			} else if err := h.Release(t.Context()); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		for _, name := range []string{"", "{}", "{}a", "x{", "x}", "}a{", "{}{a}"} {
			if _, err := c.Acquire(t.Context(), name, lock.Wait(0)); err == nil {
				t.Errorf("%q is accepted", name)
			}
		}
	})
}

// A prefix stands before the name of every kind of lock, and does not make a name of none.
func TestWithKeyPrefix(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(lock.WithKeyPrefix("shop:"))
		must[*lock.Hold](t)(c.Acquire(t.Context(), "call", lock.Wait(0)))
		must[*lock.Hold](t)(c.NewFairLock("fair").Acquire(t.Context(), lock.Wait(0)))
		must[lock.Grant](t)(c.NewLock("named", "a").TryLock(t.Context()))
		for _, name := range []string{"call", "fair", "named"} {
			if !w.server.Exists("shop:" + name) {
				t.Errorf("there is no key shop:%s among %q", name, w.server.Keys())
			}
		}
		if _, err := c.Acquire(t.Context(), "", lock.Wait(0)); err == nil {
			t.Error("the prefix alone is accepted as a name")
		}
	})
}

// wrapped is a Redis client of a user's own.
type wrapped struct{ redis.UniversalClient }

// A client that was never made is found where it is handed over, and not by a panic of the
// first request.
func TestNew_noRedisClient(t *testing.T) {
	want := "lock: no Redis client"
	for _, rdb := range []redis.UniversalClient{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil), (*redis.Ring)(nil), (*wrapped)(nil)} {
		if _, err := lock.New(rdb); err == nil || err.Error() != want {
			t.Errorf("%T: got %v, want %q", rdb, err, want)
		}
	}
}

// An option that is not set, such as one in a variable, leaves the default.
func TestOptions_nilChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil, lock.WithFencing(), nil)
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders", nil, lock.Lease(time.Minute), nil))
		if h.Token() == 0 || h.Remaining() < 55*time.Second || h.Remaining() > time.Minute {
			t.Errorf("token %d, remaining %v", h.Token(), h.Remaining())
		}
		_, err := lock.NewMultiLock(lock.GroupOptions{}, lock.Member{Client: c, Name: "orders"}).TryLock(t.Context(), nil)
		wantErr(t, "a group with a nil option", err, lock.ErrBusy)
	})
}

// Do without work says so before it takes the lock.
func TestDo_withoutWork(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		for name, err := range map[string]error{
			"Client":   c.Do(t.Context(), "orders", nil),
			"FairLock": c.NewFairLock("orders").Do(t.Context(), nil),
		} {
			if err == nil || !strings.Contains(err.Error(), "no work") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if n := w.count("EVAL"); n != 0 {
			t.Errorf("%d requests for no work", n)
		}
	})
}

// A lease that a server cannot count is refused before a request, at once and not after
// every attempt. A lease of a century works.
func TestLease_longest(t *testing.T) {
	const longest, century = time.Duration(1<<63 - 1), 100 * 365 * 24 * time.Hour
	inBubble(t, func(t *testing.T, w *world) {
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.HasPrefix(err.Error(), "lock: ") || !strings.HasSuffix(err.Error(), " is above 100 years") {
				t.Errorf("%s: got %v", what, err)
			}
		}
		ctx := t.Context()
		for _, d := range []time.Duration{century + 1, longest} {
			_, err := lock.New(w.redis(), lock.WithWatchdogTimeout(d))
			refused("watchdog", err)
			c := w.client()
			_, err = c.Acquire(ctx, "orders", lock.Lease(d), lock.Wait(0))
			refused("Acquire", err)
			_, err = c.NewFairLock("orders").Acquire(ctx, lock.Lease(d))
			refused("FairLock", err)
			_, err = lock.NewRedLock(lock.GroupOptions{}, lock.Member{Client: c, Name: "orders"}).TryLock(ctx, lock.Lease(d))
			refused("RedLock", err)
			if n := w.count("EVAL"); n != 0 {
				t.Errorf("%d requests with a lease of %v", n, d)
			}
		}
		c := w.client(lock.WithWatchdogTimeout(century))
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders", lock.Lease(century), lock.Wait(0)))
		if h.Remaining() < century/2 {
			t.Errorf("remaining %v", h.Remaining())
		}
		n := w.count("EVAL")
		refused("Extend", h.Extend(ctx, century+1))
		refused("Extend", h.Extend(ctx, longest))
		if w.count("EVAL") != n {
			t.Error("an extension that is refused was sent")
		}
		if err := errors.Join(h.Extend(ctx, century), h.Release(ctx)); err != nil {
			t.Error(err)
		}
		h = must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// WAIT must end before the Redis client gives its answer up: else every acquire is of
// unknown outcome.
func TestWithReplicaAcks_withinTheReadTimeout(t *testing.T) {
	for _, tt := range []struct {
		rdb     redis.UniversalClient
		timeout time.Duration
		ok      bool
	}{
		{redis.NewClient(&redis.Options{ReadTimeout: time.Second}), time.Second, false},
		{redis.NewClient(&redis.Options{ReadTimeout: time.Second}), time.Second - 1, true},
		{redis.NewClient(&redis.Options{}), time.Hour, false},
		{redis.NewClient(&redis.Options{ReadTimeout: -1}), time.Hour, true},
		{redis.NewClusterClient(&redis.ClusterOptions{ReadTimeout: time.Second}), time.Second, false},
		{redis.NewClusterClient(&redis.ClusterOptions{ReadTimeout: -1}), time.Hour, true},
	} {
		c, err := lock.New(tt.rdb, lock.WithReplicaAcks(1, tt.timeout))
		if tt.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "not below the read timeout") {
			t.Errorf("%T, %v: got %v", tt.rdb, tt.timeout, err)
		}
		if c != nil {
			c.Close()
		}
		tt.rdb.Close()
	}
}

// A prefix that makes every name invalid is refused with it, and not by each call.
func TestWithKeyPrefix_braces(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for _, prefix := range []string{"a}b{", "{", "}", "{}", "x{y"} {
			if _, err := lock.New(w.redis(), lock.WithKeyPrefix(prefix)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", prefix)) {
				t.Errorf("prefix %q: got %v", prefix, err)
			}
		}
		for _, prefix := range []string{"", "shop:", "{shop}", "{shop}:", "x{shop}"} {
			c := w.client(lock.WithKeyPrefix(prefix))
			h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders", lock.Wait(0)))
			if err := h.Release(t.Context()); err != nil {
				t.Errorf("prefix %q: %v", prefix, err)
			}
		}
	})
}

// A lease that the allowance for drift uses up can never be granted, so a group must not
// try until the context ends.
func TestGroup_leaseOfWhichDriftLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.setLatency(time.Microsecond)
		member := lock.Member{Client: w.client(), Name: "orders"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for name, group := range map[string]lock.Locker{"MultiLock": lock.NewMultiLock(lock.GroupOptions{}, member), "RedLock": lock.NewRedLock(lock.GroupOptions{}, member)} {
			for _, d := range []time.Duration{-1, time.Millisecond, 2 * time.Millisecond, 3*time.Millisecond - 1} {
				_, err := group.Lock(ctx, lock.Lease(d))
				if err == nil || err.Error() != fmt.Sprintf("lock: lease %v is below 3ms", d) {
					t.Errorf("%s with a lease of %v: got %v", name, d, err)
				}
			}
			must[lock.Grant](t)(group.Lock(ctx, lock.Lease(3*time.Millisecond)))
			must[int](t)(group.Unlock(ctx))
		}
	})
}
