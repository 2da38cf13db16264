package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/toxics"
	"github.com/holdfast-go/holdfast/sim"
)

// near says whether two durations differ by no more than a few messages take.
func near(a, b time.Duration) bool { return (a - b).Abs() < 10*time.Millisecond }

// waiting are the commands that wait, each with what wakes it.
var waiting = map[string]struct {
	wait, wake []any
	want       string
}{
	"BLPOP":      {[]any{"blpop", "k", 4}, []any{"rpush", "k", "x"}, "[k x]"},
	"BRPOP":      {[]any{"brpop", "other", "k", 4}, []any{"rpush", "k", "x"}, "[k x]"},
	"BRPOPLPUSH": {[]any{"brpoplpush", "k", "to", 4}, []any{"rpush", "k", "x"}, "x"},
	"BLMOVE":     {[]any{"blmove", "k", "to", "left", "right", 4}, []any{"rpush", "k", "x"}, "x"},
	"BLMPOP":     {[]any{"blmpop", 4, 1, "k", "left"}, []any{"rpush", "k", "x"}, "[k [x]]"},
	"BZPOPMIN":   {[]any{"bzpopmin", "k", 4}, []any{"zadd", "k", 1, "x"}, "[k x 1]"},
	"BZPOPMAX":   {[]any{"bzpopmax", "k", 4}, []any{"zadd", "k", 1, "x"}, "[k x 1]"},
	"BZMPOP":     {[]any{"bzmpop", 4, 1, "k", "min"}, []any{"zadd", "k", 1, "x"}, "[k [[x 1]]]"},
	"XREAD":      {[]any{"xread", "block", 4000, "streams", "k", "$"}, []any{"xadd", "k", "1-1", "f", "x"}, "[[k [[1-1 [f x]]]]]"},
}

// A client that waits in Redis gets what another sends, when it is sent: by a
// command, by a script, by a transaction.
func TestABlockedClientIsWokenByAnother(t *testing.T) {
	for name, tt := range waiting {
		for _, by := range []string{"command", "script", "transaction"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1}, func(ctx context.Context, w *sim.World) {
					a, b := w.Client(w.Process("client-1"), 1), w.Client(w.Process("client-2"), 1)
					defer a.Close()
					defer b.Close()
					woken := make(chan struct{})
					time.AfterFunc(3*time.Second, func() {
						defer close(woken)
						var err error
						switch by {
						case "command":
							err = b.Do(ctx, tt.wake...).Err()
						case "script":
							err = b.Eval(ctx, "return redis.call(unpack(ARGV))", nil, tt.wake...).Err()
						case "transaction":
							_, err = b.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Do(ctx, tt.wake...).Err() })
						}
						if err != nil {
							t.Error(err)
						}
					})
					start := time.Now()
					got, err := a.Do(ctx, tt.wait...).Result()
					if err != nil || fmt.Sprint(got) != tt.want {
						t.Errorf("the reply is %v, %v, want %s", got, err, tt.want)
					}
					if d := time.Since(start); !near(d, 3*time.Second) {
						t.Errorf("it came after %v, want 3s", d)
					}
					<-woken
				})
			})
		}
	}
}

// A wait ends with its timeout, in virtual time, and the connection goes on.
func TestABlockedClientTimesOut(t *testing.T) {
	for name, tt := range waiting {
		t.Run(name, func(t *testing.T) {
			in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
				c := w.Client(w.Process("client-1"), 1)
				defer c.Close()
				start := time.Now()
				if got, err := c.Do(ctx, tt.wait...).Result(); !errors.Is(err, redis.Nil) {
					t.Errorf("the reply is %v, %v, want nil", got, err)
				}
				if d := time.Since(start); !near(d, 4*time.Second) {
					t.Errorf("it came after %v, want 4s", d)
				}
				if err := c.Ping(ctx).Err(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The server serves first the client that began to wait first, each with one element. A
// passed-on element serves the next.
func TestBlockedClientsAreServedInOrder(t *testing.T) {
	var changes []string
	o := sim.Options{Seed: 1, Clients: 4, Groups: 1, OnChange: func(c keyspace.Change) {
		changes = append(changes, fmt.Sprintf("%s of %s leaves %s [%s]", c.Command, c.By, c.Key, c.After))
	}}
	in(t, o, func(ctx context.Context, w *sim.World) {
		got := make(chan string, 3)
		for i := 1; i <= 3; i++ {
			c := w.Client(w.Process(fmt.Sprintf("client-%d", i)), 1)
			defer c.Close()
			time.Sleep(time.Second)
			go func() {
				var v string
				if i == 1 {
					v, _ = c.BLMove(ctx, "k", "k2", "LEFT", "LEFT", 0).Result()
				} else if all, _ := c.BLPop(ctx, 0, "k", "k2").Result(); len(all) == 2 {
					v = all[0] + " " + all[1]
				}
				got <- fmt.Sprintf("client-%d: %s", i, v)
			}()
		}
		time.Sleep(time.Second)
		c := w.Client(w.Process("client-4"), 1)
		defer c.Close()
		must.Succeed(t, c.RPush(ctx, "k", "x", "y").Err())
		all := []string{<-got, <-got, <-got}
		slices.Sort(all)
		if want := []string{"client-1: x", "client-2: k2 x", "client-3: k y"}; !slices.Equal(all, want) && !slices.Equal(all, []string{"client-1: x", "client-2: k y", "client-3: k2 x"}) {
			t.Errorf("they got %q", all)
		}
	})
	if len(changes) == 0 || changes[0] != "RPUSH of client-4 leaves k [x, y]" || !strings.HasPrefix(changes[1], "BLMOVE of client-1 leaves k") {
		t.Errorf("the changes are %q", changes)
	}
}

// popsInVain has a client wait for an element of the key k, and returns another client.
func popsInVain(ctx context.Context, t *testing.T, w *sim.World) (other redis.UniversalClient, got <-chan string) {
	a, b := w.Client(w.Process("client-1"), 1), w.Client(w.Process("client-2"), 1)
	t.Cleanup(func() { a.Close() })
	t.Cleanup(func() { b.Close() })
	all := make(chan string, 1)
	go func() {
		x, err := a.BLPop(ctx, 0, "k").Result()
		all <- fmt.Sprint(x, err)
	}()
	time.Sleep(time.Second)
	return b, all
}

// A key that becomes one of another type does not end a wait.
func TestAKeyOfAnotherTypeDoesNotEndAWait(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1}, func(ctx context.Context, w *sim.World) {
		b, got := popsInVain(ctx, t, w)
		for _, args := range [][]any{{"set", "k", "x"}, {"del", "k"}, {"rpush", "k", "y"}} {
			if err := b.Do(ctx, args...).Err(); err != nil {
				t.Error(err)
			}
		}
		if reply := <-got; reply != "[k y] <nil>" {
			t.Errorf("the reply is %s", reply)
		}
	})
}

// A client that is gone takes nothing. A client that waits at a server that stops learns
// that its connection broke.
func TestWhoIsGoneTakesNothing(t *testing.T) {
	for name, leave := range map[string]func(w *sim.World, c redis.UniversalClient) error{
		"crash": func(w *sim.World, _ redis.UniversalClient) error { return w.Crash("client-1") },
		"close": func(_ *sim.World, c redis.UniversalClient) error { return c.Close() },
		"restart": func(w *sim.World, _ redis.UniversalClient) error {
			return errors.Join(w.StopNode("node-1"), w.StartNode("node-1", true))
		},
		"failover": func(w *sim.World, _ redis.UniversalClient) error { return w.HandOver("node-1-replica-1") },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1, Replicas: 1}, func(ctx context.Context, w *sim.World) {
				a := redis.NewClient(&redis.Options{Addr: w.Addresses(1)[0], Dialer: w.Dialer(w.Process("client-1")), MaxRetries: -1})
				b := w.Client(w.Process("client-2"), 1)
				defer b.Close()
				ended := make(chan error, 1)
				start := time.Now()
				waits, cancel := context.WithCancel(ctx)
				go func() { ended <- a.BLPop(waits, 0, "k").Err() }()
				time.Sleep(time.Second)
				if err := leave(w, a); err != nil {
					t.Error(err)
				}
				time.Sleep(100 * time.Millisecond)
				if err := b.RPush(ctx, "k", "x").Err(); err != nil {
					t.Error(err)
				}
				if n := b.LLen(ctx, "k").Val(); n != 1 {
					t.Errorf("the list has %d elements, want 1", n)
				}
				cancel()
				if err := <-ended; err == nil || !near(time.Since(start), 1100*time.Millisecond) {
					t.Errorf("the wait ended after %v with %v", time.Since(start), err)
				}
				a.Close()
			})
		})
	}
}

// A server does not know that a client is cut off: what it takes for it arrives
// when the link is back.
func TestABlockedClientThatIsCutOffGetsItsReplyLater(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1}, func(ctx context.Context, w *sim.World) {
		b, got := popsInVain(ctx, t, w)
		start := time.Now()
		heal, err := w.Attach(faults.Link{From: "client-1", To: "node-1"}, stream.Downstream, new(toxics.Hold))
		must.Succeed(t, err)
		if err := b.RPush(ctx, "k", "x").Err(); err != nil {
			t.Error(err)
		}
		if n := b.LLen(ctx, "k").Val(); n != 0 {
			t.Errorf("the list has %d elements, want none", n)
		}
		time.AfterFunc(2*time.Second, heal)
		if reply := <-got; reply != "[k x] <nil>" || !near(time.Since(start), 2*time.Second) {
			t.Errorf("the reply is %s after %v", reply, time.Since(start))
		}
	})
}

// A transaction never waits.
func TestATransactionDoesNotBlock(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		start := time.Now()
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.BLPop(ctx, time.Hour, "k")
			p.Do(ctx, "blmpop", 0, 1, "k", "left")
			return p.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: time.Hour}).Err()
		})
		if !errors.Is(err, redis.Nil) || time.Since(start) > time.Second {
			t.Errorf("it ended after %v with %v", time.Since(start), err)
		}
	})
}

// A command that the world cannot follow ends the run, in one line that names it.
func TestWhatCannotBeFollowedIsSaid(t *testing.T) {
	for _, args := range [][]any{
		{"xgroup", "create", "s", "g", "$", "mkstream"}, {"pfadd", "k", "x"}, {"select", 1}, {"lcs", "a", "b"}, {"hexpire", "k", 1, "fields", 1, "f"},
		{"eval", "return redis.call('BLPOP', 'k', 0)", 0}, {"eval", "return redis.pcall('PFADD', 'k', 'x')", 0},
		{"psubscribe", "__keyspace@0__:*"}, {"subscribe", "news", "__keyevent@0__:expired"},
	} {
		t.Run(fmt.Sprint(args...), func(t *testing.T) {
			var failed error
			err := sim.Bubble(func() {
				w := sim.New(sim.Options{Seed: 1, Clients: 1, Groups: 1, LockKey: func(string) bool { return true }})
				c := w.Client(w.Process("client-1"), 1)
				for range 2 {
					c.Do(context.Background(), args...)
				}
				c.Close()
				w.Close()
				failed = w.Err()
			})
			command := strings.ToUpper(fmt.Sprint(args[0]))
			if command == "EVAL" {
				command = strings.Split(args[1].(string), "'")[1]
			}
			if err != nil || failed == nil || !strings.HasPrefix(failed.Error(), "cannot follow "+command+" ") || strings.Contains(failed.Error(), "\n") {
				t.Errorf("it ends with %v, %v, want one line about %s", err, failed, command)
			}
		})
	}
}

// A replica has every type of key that its primary has, and refuses to change it.
func TestEveryTypeIsReplicated(t *testing.T) {
	writes := [][]any{
		{"set", "string", "a"}, {"hset", "hash", "f", "a"}, {"rpush", "list", "b", "a"}, {"sadd", "set", "b", "a"},
		{"zadd", "zset", "-inf", "low", 2, "a", 1, "b"}, {"xadd", "stream", "1-1", "f", "a"},
	}
	held := map[string]map[string]string{}
	o := sim.Options{Seed: 1, Clients: 1, Groups: 1, Replicas: 1, OnChange: func(c keyspace.Change) {
		if held[c.Node] == nil {
			held[c.Node] = map[string]string{}
		}
		held[c.Node][c.Key] = c.After.Type + " " + c.After.String()
	}}
	in(t, o, func(ctx context.Context, w *sim.World) {
		time.Sleep(time.Second)
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		for _, args := range writes {
			if err := c.Do(ctx, args...).Err(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
	})
	want := map[string]string{
		"string": "string a", "hash": "hash f: a", "list": "list b, a", "set": "set a, b", "zset": "zset low: -Inf, b: 1, a: 2", "stream": "stream 1-1: f a",
	}
	for _, node := range []string{"node-1", "node-1-replica-1"} {
		for key, w := range want {
			if got := held[node][key]; got != w {
				t.Errorf("%s holds %q in %s, want %q", node, got, key, w)
			}
		}
	}
}
