package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/servers"
)

// A lock may live in any type of key: the report of each names the client that changed
// it.
func TestTheTruthFollowsEveryType(t *testing.T) {
	onBackends(t, servers.Options{Clients: 1, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		c, ctx := client(t, s, "client-1", 1), t.Context()
		check(t, admin(t, s, "node-1").RPush(ctx, "lock:old", "b", "a").Err())
		v := observe(t, s)
		for _, args := range [][]any{
			{"rpush", "lock:list", "b", "a"}, {"lpop", "lock:list"}, {"pexpire", "lock:list", 60000},
			{"sadd", "lock:set", "b", "a"}, {"srem", "lock:set", "b"},
			{"zadd", "lock:zset", 2, "a", "-inf", "b", 0.1, "c"}, {"zpopmin", "lock:zset"}, {"zincrby", "lock:zset", 5, "c"},
			{"xadd", "lock:stream", "1-1", "f", "a"}, {"xadd", "lock:stream", "1-2", "f", "b"}, {"xdel", "lock:stream", "1-1"},
			{"del", "lock:list"},
		} {
			check(t, c.Do(ctx, args...).Err())
		}
		v.want("node-1",
			"primary lock:old: nothing -> list b, a (restart)",
			"primary lock:list: nothing -> list b, a (RPUSH by client-1)",
			"primary lock:list: list b, a -> list a (LPOP by client-1)",
			"primary lock:list: list a -> list a for a time (PEXPIRE by client-1)",
			"primary lock:set: nothing -> set a, b (SADD by client-1)",
			"primary lock:set: set a, b -> set a (SREM by client-1)",
			"primary lock:zset: nothing -> zset b: -Inf, c: 0.1, a: 2 (ZADD by client-1)",
			"primary lock:zset: zset b: -Inf, c: 0.1, a: 2 -> zset c: 0.1, a: 2 (ZPOPMIN by client-1)",
			"primary lock:zset: zset c: 0.1, a: 2 -> zset a: 2, c: 5.1 (ZINCRBY by client-1)",
			"primary lock:stream: nothing -> stream 1-1: f a (XADD by client-1)",
			"primary lock:stream: stream 1-1: f a -> stream 1-1: f a, 1-2: f b (XADD by client-1)",
			"primary lock:stream: stream 1-1: f a, 1-2: f b -> stream 1-2: f b (XDEL by client-1)",
			"primary lock:list: list a for a time -> nothing (DEL by client-1)",
		)
	})
}

// asked is the number of connections that have asked for a command.
func (v *seen) asked(command string) (n int) {
	var f *feed
	switch w := v.nodes["node-1"].(type) {
	case *observer:
		f = &w.feed
	case *miniredisFeed:
		f = &w.feed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for by := range f.changedBy {
		if by.command == strings.ToUpper(command) {
			n++
		}
	}
	return n
}

// A waiting client takes what another sends, and the report says so: the server shows no
// command for it.
func TestTheTruthKnowsWhoWaited(t *testing.T) {
	onBackends(t, servers.Options{Clients: 3, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		ctx := t.Context()
		v := observe(t, s)
		waits := func(n int, args ...any) <-chan error {
			c, ended := client(t, s, fmt.Sprintf("client-%d", n), 1), make(chan error, 1)
			check(t, c.Ping(ctx).Err())
			before := v.asked(args[0].(string))
			go func() { ended <- c.Do(ctx, args...).Err() }()
			eventually(t, "it waits", func() bool { return v.asked(args[0].(string)) > before })
			return ended
		}
		if err := <-waits(1, "blpop", "lock", 0.05); err != redis.Nil {
			t.Fatal(err)
		}
		first := waits(1, "blmove", "lock", "lock:2", "left", "right", 10)
		second := waits(2, "blpop", "lock", "lock:2", 10)
		third := client(t, s, "client-3", 1)
		_, err := third.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.RPush(ctx, "lock", "a")
			return p.PExpire(ctx, "lock", time.Minute).Err()
		})
		check(t, err)
		check(t, <-first)
		check(t, <-second)
		low := waits(2, "bzpopmin", "lock:z", 10)
		check(t, third.Eval(ctx, "return redis.call('zadd', KEYS[1], 1, 'x', 2, 'y')", []string{"lock:z"}).Err())
		check(t, <-low)
		v.want("node-1",
			"primary lock: nothing -> list a for a time (EXEC by client-3)",
			"primary lock: list a for a time -> nothing (BLMOVE by client-1)",
			"primary lock:2: nothing -> list a (BLMOVE by client-1)",
			"primary lock:2: list a -> nothing (BLPOP by client-2)",
			"primary lock:z: nothing -> zset x: 1, y: 2 (EVAL by client-3)",
			"primary lock:z: zset x: 1, y: 2 -> zset y: 2 (BZPOPMIN by client-2)",
		)
	})
}
