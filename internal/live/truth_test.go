package live

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// seen collects what is reported.
type seen struct {
	*Truth
	t  *testing.T
	s  *servers.Servers
	mu sync.Mutex
	c  []keyspace.Change
}

// observe observes keys that begin with "lock". At the end of the test the
// changes must form one chain per node and key that ends in what the node
// holds.
func observe(t *testing.T, s *servers.Servers) *seen {
	t.Helper()
	v := &seen{t: t, s: s}
	truth, err := startTruth(s, func(k string) bool { return strings.HasPrefix(k, "lock") }, func(c keyspace.Change) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.c = append(v.c, c)
	})
	check(t, err)
	v.Truth = truth
	t.Cleanup(func() {
		defer truth.Close()
		if err := truth.Err(); err != nil {
			t.Error(err)
			return
		}
		v.chained()
		if err := truth.Err(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// changes are the changes of a node after everything was reported.
func (v *seen) changes(node string) []keyspace.Change {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	check(v.t, v.Sync(ctx, node))
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(v.c), func(c keyspace.Change) bool { return c.Node != node })
}

func (v *seen) chained() {
	v.t.Helper()
	same := keyspace.Value.Equal
	if v.s.RunKey() != "" {
		same = alike // the server is believed when a key expires
	}
	for _, node := range slices.Sorted(maps.Keys(v.nodes)) {
		held := map[string]keyspace.Value{}
		var last time.Time
		for _, c := range v.changes(node) {
			if !same(c.Before, held[c.Key]) {
				v.t.Errorf("%s: %q was %+v, and the next change begins with %+v", node, c.Key, held[c.Key], c.Before)
			}
			if c.At.Before(last) {
				v.t.Errorf("%s: the times go back by %s", node, last.Sub(c.At))
			}
			held[c.Key], last = c.After, c.At
		}
		if !v.s.Up(node) {
			continue
		}
		o, ok := v.nodes[node].(*observer)
		if !ok {
			v.compare(node, held)
			continue
		}
		maps.DeleteFunc(held, func(_ string, x keyspace.Value) bool { return !x.Exists() }) // a node does not answer for a slot that has moved
		eventually(v.t, "the node is asked", func() bool {
			f, err := o.inspect(context.Background(), slices.Sorted(maps.Keys(held)))
			if err != nil || f == nil || f.begin.changes != f.end.changes || len(f.unknown) > 0 {
				return false
			}
			for k, x := range f.values {
				if !alike(x, held[k]) && x.Exists() { // what has just expired is no difference
					v.t.Errorf("%s holds %+v for %q, and the changes say %+v", node, x, k, held[k])
				}
			}
			return true
		})
	}
}

// compare looks at a node that stands still.
func (v *seen) compare(node string, held map[string]keyspace.Value) {
	v.t.Helper()
	ctx, c := context.Background(), admin(v.t, v.s, node)
	names, err := c.Keys(ctx, "lock*").Result()
	check(v.t, err)
	for _, k := range slices.Concat(names, slices.Sorted(maps.Keys(held))) {
		got, err := ReadKey(ctx, c, k)
		if err != nil || !alike(got, held[k]) && got.Exists() { // what has just expired is no difference
			v.t.Errorf("%s holds %+v for %q, %v, and the changes say %+v", node, got, k, err, held[k])
		}
	}
}

// said tells a change in a line.
func said(c keyspace.Change) string {
	what := c.Cause
	if c.Cause == "command" {
		what = c.Command + " by " + c.By
	}
	return fmt.Sprintf("%s %s: %s -> %s (%s)", c.Role, c.Key, held(c.Before), held(c.After), what)
}

func held(v keyspace.Value) string {
	s := "nothing"
	if v.Type == "string" {
		s = v.Str
	}
	if v.Type == "hash" {
		s = fmt.Sprint(v.Hash)
	}
	if v.Items != nil || v.Entries != nil {
		s = v.Type + " " + v.String()
	}
	if !v.ExpireAt.IsZero() {
		s += " for a time"
	}
	return s
}

func (v *seen) want(node string, lines ...string) []keyspace.Change {
	v.t.Helper()
	return v.wantLines(node, v.changes(node), lines)
}

// wantByKey compares the changes key after key, for a test in which those of
// several keys may come in another order.
func (v *seen) wantByKey(node string, lines ...string) {
	v.t.Helper()
	changes := v.changes(node)
	slices.SortStableFunc(changes, func(a, b keyspace.Change) int { return strings.Compare(a.Key, b.Key) })
	v.wantLines(node, changes, lines)
}

func (v *seen) wantLines(node string, changes []keyspace.Change, lines []string) []keyspace.Change {
	v.t.Helper()
	var got []string
	for _, c := range changes {
		got = append(got, said(c))
	}
	if !slices.Equal(got, lines) {
		v.t.Errorf("%s changed so:\n%s\nwant\n%s", node, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	return changes
}

var (
	releaseString = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)
	takeHash      = redis.NewScript(`if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
		redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end return 0`)
)

func TestTheTruthTellsWhatCommandsHaveChanged(t *testing.T) {
	onBackends(t, servers.Options{Clients: 2, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		one, two := client(t, s, "client-1", 1), client(t, s, "client-2", 1)
		ctx := t.Context()
		check(t, admin(t, s, "node-1").Set(ctx, "lock:old", "x", 0).Err())
		v := observe(t, s)
		begin := time.Now()
		check(t, one.SetNX(ctx, "lock", "\"a\"\x00\xff\n", time.Minute).Err())
		after := time.Now()
		check(t, two.SetNX(ctx, "lock", "b", time.Minute).Err()) // refused
		check(t, two.SetNX(ctx, "other", "b", time.Minute).Err())
		check(t, releaseString.Run(ctx, two, []string{"lock"}, "b").Err())
		check(t, releaseString.Run(ctx, one, []string{"lock"}, "\"a\"\x00\xff\n").Err())
		for range 2 {
			check(t, takeHash.Run(ctx, two, []string{"lock"}, "b:1", 60000).Err())
		}
		check(t, takeHash.Run(ctx, one, []string{"lock"}, "a:1", 60000).Err())
		_, err := one.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock")
			p.Set(ctx, "lock", "c", 0)
			p.PExpire(ctx, "lock", time.Minute)
			return nil
		})
		check(t, err)
		check(t, s.DeleteKeys("node-1", "lock"))
		check(t, one.FlushAll(ctx).Err())
		changes := v.want("node-1",
			"primary lock:old: nothing -> x (restart)",
			"primary lock: nothing -> \"a\"\x00\xff\n for a time (SET by client-1)",
			"primary lock: \"a\"\x00\xff\n for a time -> nothing (EVALSHA by client-1)",
			"primary lock: nothing -> map[b:1:1] for a time (EVAL by client-2)",
			"primary lock: map[b:1:1] for a time -> map[b:1:2] for a time (EVALSHA by client-2)",
			"primary lock: map[b:1:2] for a time -> c for a time (EXEC by client-1)",
			"primary lock: c for a time -> nothing (fault)",
			"primary lock:old: x -> nothing (FLUSHALL by client-1)",
		)
		if len(changes) < 2 {
			return
		}
		c := changes[1]
		if c.At.Before(begin) || c.At.After(after) {
			t.Errorf("the change happened at %s, the command from %s to %s", c.At, begin, after)
		}
		if ttl := c.After.ExpireAt.Sub(c.Now); ttl > time.Minute || ttl < time.Minute-50*time.Millisecond {
			t.Errorf("a time to live of a minute is told as %s", ttl)
		}
	})
}

func TestTheTruthTellsWhenAKeyExpires(t *testing.T) {
	onBackends(t, servers.Options{Clients: 1, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		c := client(t, s, "client-1", 1)
		v := observe(t, s)
		ctx := t.Context()
		begin := time.Now()
		check(t, c.SetNX(ctx, "lock", "a", 150*time.Millisecond).Err())
		after := time.Now()
		eventually(t, "the key expires", func() bool { return len(v.changes("node-1")) == 2 })
		check(t, c.SetNX(ctx, "lock", "b", time.Minute).Err())
		check(t, c.PExpire(ctx, "lock", 20*time.Millisecond).Err())
		eventually(t, "somebody else takes the key", func() bool { return c.SetNX(ctx, "lock", "c", 0).Val() })
		changes := v.want("node-1",
			"primary lock: nothing -> a for a time (SET by client-1)",
			"primary lock: a for a time -> nothing (expiry)",
			"primary lock: nothing -> b for a time (SET by client-1)",
			"primary lock: b for a time -> b for a time (PEXPIRE by client-1)",
			"primary lock: b for a time -> nothing (expiry)",
			"primary lock: nothing -> c (SET by client-1)",
		)
		if len(changes) < 2 {
			return
		}
		// Redis cuts off what is less than a millisecond.
		first, last := begin.Add(149*time.Millisecond), after.Add(150*time.Millisecond)
		if at := changes[1].At; at.Before(first) || at.After(last) {
			t.Errorf("the key expired at %s, which must be between %s and %s", at, first, last)
		}
	})
}

// A client whose clock is behind the server's asks for a lease that is over:
// the script itself finds the key expired.
func TestTheTruthGoesOnAfterAKeyExpiresInAScript(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 1})
	c := client(t, s, "client-1", 1)
	v := observe(t, s)
	take := redis.NewScript(`
		redis.call("SET", KEYS[1], "a", "PXAT", 1000)
		if redis.call("GET", KEYS[1]) then return 0 end
		redis.call("SET", KEYS[1], "b", "PX", 60000)
		return 1`)
	if n, err := take.Run(t.Context(), c, []string{"lock"}).Int(); err != nil || n != 1 {
		t.Fatalf("the script found a key whose time was over: %v", err)
	}
	v.want("node-1", "primary lock: nothing -> b for a time (EVAL by client-1)")
}

func TestTheTruthFollowsClientsThatContend(t *testing.T) {
	onBackends(t, servers.Options{Clients: 2, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		v := observe(t, s)
		ctx := t.Context()
		type done struct {
			who           string
			begin, finish time.Time
		}
		var mu sync.Mutex
		var grants []done
		var contending sync.WaitGroup
		for _, name := range []string{"client-1", "client-2"} {
			c := client(t, s, name, 1)
			contending.Go(func() {
				for range 200 {
					begin := time.Now()
					n, err := takeHash.Run(ctx, c, []string{"lock"}, name+":1", 3).Int()
					if err != nil {
						t.Error(err)
						return
					}
					if n == 1 {
						mu.Lock()
						grants = append(grants, done{name, begin, time.Now()})
						mu.Unlock()
					}
					if n == 1 && begin.UnixNano()%2 == 0 { // otherwise it expires
						check(t, c.Del(ctx, "lock").Err())
					}
				}
			})
		}
		contending.Wait()
		// The last hold may be about to expire: it must not do so while the node
		// is looked at.
		check(t, client(t, s, "client-1", 1).Del(ctx, "lock").Err())
		changes := v.changes("node-1")
		// The server's clock and this process' own run side by side, not as one.
		const apart = time.Millisecond
		for _, g := range grants {
			if !slices.ContainsFunc(changes, func(c keyspace.Change) bool {
				return c.By == g.who && c.After.Exists() && !c.At.Before(g.begin.Add(-apart)) && !c.At.After(g.finish.Add(apart))
			}) {
				t.Errorf("no change tells of the grant to %s from %s to %s", g.who, g.begin, g.finish)
			}
		}
		made := 0
		for _, c := range changes {
			if c.Cause == "command" && c.After.Exists() {
				made++
			}
		}
		if made != len(grants) || made < 10 {
			t.Errorf("%d grants were told of %d", made, len(grants))
		}
	})
}

func TestANodeIsComparedWhenItStoodStillAndWasAskedForEveryKey(t *testing.T) {
	holds := keyspace.Value{Type: "string", Str: "a"}
	for name, c := range map[string]struct {
		shadow map[string]keyspace.Value
		now    int // changes by now
		found  finding
		want   bool
	}{
		"nothing happened":           {map[string]keyspace.Value{"lock": holds}, 1, finding{values: map[string]keyspace.Value{"lock": holds}, begin: mark{changes: 1}, end: mark{changes: 1}}, true},
		"it changed while asked":     {nil, 2, finding{begin: mark{changes: 1}, end: mark{changes: 2}}, false},
		"it has changed since":       {nil, 2, finding{begin: mark{changes: 1}, end: mark{changes: 1}}, false},
		"a key came before the mark": {map[string]keyspace.Value{"lock": holds}, 1, finding{begin: mark{changes: 1}, end: mark{changes: 1}}, false},
	} {
		o := &observer{feed: feed{changes: c.now}, shadow: &shadow{state: c.shadow}}
		if got := o.stoodStill(&c.found); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTheTruthKnowsWhetherTheLastCommandOfAConnectionChangedTheLock(t *testing.T) {
	onBackends(t, servers.Options{Clients: 1, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		v := observe(t, s)
		a, err := s.Access("client-1")
		check(t, err)
		c := redis.NewClient(&redis.Options{Addr: a.Primaries[0], PoolSize: 1, DisableIdentity: true,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) { return a.Dial(ctx, network, addr) }})
		defer c.Close()
		ctx := t.Context()
		check(t, c.Ping(ctx).Err())
		var local string // of the one connection there is
		check(t, v.Sync(ctx, "node-1"))
		var f *feed
		switch w := v.nodes["node-1"].(type) {
		case *observer:
			f = &w.feed
		case *miniredisFeed:
			f = &w.feed
		}
		f.mu.Lock()
		for by := range f.changedBy {
			if f.srv.Party(by.from) == "client-1" {
				local = by.from
			}
		}
		f.mu.Unlock()
		changed := func(command string) bool {
			t.Helper()
			return v.Changed("node-1", local, command)
		}
		for range 20 {
			check(t, c.SetNX(ctx, "lock", "a", time.Minute).Err())
			if !changed("SET") {
				t.Error("a grant is not known to have changed the lock")
			}
			check(t, c.SetNX(ctx, "lock", "b", time.Minute).Err())
			if changed("SET") {
				t.Error("a refusal is taken for a change")
			}
			check(t, releaseString.Eval(ctx, c, []string{"lock"}, "a").Err())
			check(t, c.Get(ctx, "lock").Err(), redis.Nil)
			if !changed("EVAL") {
				t.Error("a release by a script is not known to have changed the lock")
			}
		}
	})
}

func TestTheTruthTellsWhatAReplicaReceives(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 1, Replicas: 1})
	c := client(t, s, "client-1", 1)
	v := observe(t, s)
	ctx := t.Context()
	check(t, takeHash.Run(ctx, c, []string{"lock"}, "a:1", 60000).Err())
	check(t, c.Del(ctx, "lock").Err())
	check(t, c.SetNX(ctx, "lock", "b", 50*time.Millisecond).Err())
	eventually(t, "the key expires", func() bool { return len(v.changes("node-1-replica-1")) == 4 })
	heal, err := s.Cut("node-1", "node-1-replica-1")
	check(t, err)
	check(t, c.SetNX(ctx, "lock:late", "c", 0).Err())
	if got := v.changes("node-1-replica-1"); len(got) != 4 {
		t.Errorf("a replica that is cut off changed: %v", got[4:])
	}
	heal()
	eventually(t, "the replica receives the rest", func() bool { return len(v.changes("node-1-replica-1")) == 5 })
	v.want("node-1-replica-1",
		"replica lock: nothing -> map[a:1:1] for a time (replication)",
		"replica lock: map[a:1:1] for a time -> nothing (replication)",
		"replica lock: nothing -> b for a time (replication)",
		"replica lock: b for a time -> nothing (expiry)",
		"replica lock:late: nothing -> c (replication)",
	)
}
