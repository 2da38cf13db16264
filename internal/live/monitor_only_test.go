package live

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
)

func TestTheTruthAboutAServerThatTellsNoEvents(t *testing.T) {
	t.Parallel()
	addr := livetest.SpawnRedis(t, "")
	w := visit(t, "lock", servers.Options{Clients: 2}, "redis://"+addr)
	v := observe(t, w)
	mine := livetest.Dial(t, addr, "")
	defer mine.Close()
	one, two := client(t, w, "client-1", 1), client(t, w, "client-2", 1)
	ctx := t.Context()
	const lease = 2 * time.Second // long enough for what follows on a busy machine
	check(t, one.SetNX(ctx, "lock", "a", lease).Err())
	check(t, two.SetNX(ctx, "lock", "b", time.Minute).Err()) // refused
	check(t, releaseString.Run(ctx, two, []string{"lock"}, "b").Err())
	if err := two.HSet(ctx, "lock", "f", "x").Err(); err == nil {
		t.Error("a string was taken for a hash")
	}
	eventually(t, "the key expires", func() bool { return len(v.changes("node-1")) == 2 })
	check(t, mine.Set(ctx, "foreign", "lock", 0).Err())
	check(t, releaseString.Run(ctx, mine, []string{"foreign"}, "lock").Err())
	check(t, takeHash.Run(ctx, two, []string{"lock"}, "b:1", 60000).Err())
	check(t, takeHash.Run(ctx, one, []string{"lock"}, "a:1", 60000).Err())
	_, err := one.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, "lock")
		p.Set(ctx, "lock", "c", 0)
		return nil
	})
	check(t, err)
	check(t, mine.Del(ctx, "lock").Err())
	changes := v.want("node-1",
		"primary lock: nothing -> a for a time (SET by client-1)",
		"primary lock: a for a time -> nothing (expiry)",
		"primary lock: nothing -> map[b:1:1] for a time (EVAL by client-2)",
		"primary lock: map[b:1:1] for a time -> c (EXEC by client-1)",
		"primary lock: c -> nothing (fault)",
	)
	if len(changes) < 2 {
		return
	}
	if lived := changes[1].At.Sub(changes[0].At); lived < lease-5*time.Millisecond || lived > lease+250*time.Millisecond {
		t.Errorf("a key that lives for %s expires after %s", lease, lived)
	}
	if flags := mine.ConfigGet(ctx, "notify-keyspace-events").Val(); flags["notify-keyspace-events"] != "" {
		t.Errorf("the server was made to tell events: %q", flags)
	}
}

func TestTheTruthFollowsGuestsThatContend(t *testing.T) {
	for _, conf := range []string{"", "notify-keyspace-events KEA"} {
		t.Run(conf, func(t *testing.T) {
			t.Parallel()
			w := visit(t, "lock", servers.Options{Clients: 2}, "redis://"+livetest.SpawnRedis(t, conf))
			v := observe(t, w)
			contend(t, w, v)
		})
	}
}

// contend lets clients fight for a lock that is left to expire every other
// time.
func contend(t *testing.T, s *servers.Servers, v *seen) {
	t.Helper()
	var grants, refusals atomic.Int64
	var contending sync.WaitGroup
	for _, name := range []string{"client-1", "client-2"} {
		c := client(t, s, name, 1)
		contending.Go(func() {
			for i := range 60 {
				n, err := takeHash.Run(context.Background(), c, []string{"lock"}, name+":1", 40).Int()
				if err != nil {
					t.Error(err)
					return
				}
				if n == 0 {
					refusals.Add(1)
					time.Sleep(5 * time.Millisecond)
					continue
				}
				grants.Add(1)
				if i%2 == 0 {
					check(t, c.Del(context.Background(), "lock").Err())
				}
			}
		})
	}
	contending.Wait()
	made := int64(0)
	for _, c := range v.changes("node-1") {
		if c.Cause == "command" && c.After.Exists() {
			made++
		}
	}
	if made != grants.Load() || made < 10 {
		t.Errorf("%d grants were told of %d, with %d refusals", made, grants.Load(), refusals.Load())
	}
}
