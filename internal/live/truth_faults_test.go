package live

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// A server answers its clients before it tells what it has done. A failover loses the
// last request right before the kill: the truth must not lose it as well.
func TestTheTruthHasTheLastWriteOfAServerThatIsKilled(t *testing.T) {
	onBackends(t, servers.Options{Clients: 3, Groups: 1}, func(t *testing.T, s *servers.Servers) {
		v := observe(t, s)
		ctx := t.Context()
		for range 15 {
			var last sync.Map // who -> what was confirmed last
			var writing sync.WaitGroup
			stopped := make(chan struct{})
			for _, name := range []string{"client-1", "client-2", "client-3"} {
				a, err := s.Access(name)
				check(t, err)
				c := redis.NewClient(&redis.Options{Addr: a.Primaries[0], MaxRetries: -1, DisableIdentity: true, Protocol: 2})
				check(t, c.Ping(ctx).Err())
				writing.Go(func() {
					defer c.Close()
					for value := 1; c.Set(ctx, "lock:"+name, value, 0).Err() == nil; value++ {
						last.Store(name, value)
						if value == 20 && name == "client-1" {
							close(stopped)
						}
					}
				})
			}
			<-stopped
			check(t, s.StopNode("node-1"))
			writing.Wait()
			told := map[string]keyspace.Value{}
			for _, c := range v.changes("node-1") {
				told[strings.TrimPrefix(c.Key, "lock:")] = c.After
			}
			last.Range(func(name, value any) bool {
				got, err := redis.NewStringResult(told[name.(string)].Str, nil).Int()
				if err != nil || got < value.(int) {
					t.Errorf("%s was told that it wrote %d, the truth ends with %+v", name, value, told[name.(string)])
				}
				return true
			})
			check(t, s.StartNode("node-1", false))
		}
	})
}

func TestTheTruthIsToldInTrueTimeByAServerWithAnotherClock(t *testing.T) {
	t.Parallel()
	s := startWithClocks(t, servers.Options{Clients: 1, Groups: 1})
	c := client(t, s, "client-1", 1)
	v := observe(t, s)
	ctx := t.Context()
	begin := time.Now()
	check(t, c.SetNX(ctx, "lock", "a", time.Minute).Err())
	check(t, s.SetClock("node-1", time.Hour, 1))
	eventually(t, "the jump ends the lease", func() bool { return c.SetNX(ctx, "lock", "b", time.Minute).Val() })
	check(t, s.SetClock("node-1", -2*time.Hour, 2))
	check(t, c.PExpire(ctx, "lock", 300*time.Millisecond).Err())
	asked := time.Now()
	eventually(t, "the key expires by a fast clock", func() bool { return c.SetNX(ctx, "lock", "c", 0).Val() })
	changes := v.want("node-1",
		"primary lock: nothing -> a for a time (SET by client-1)",
		"primary lock: a for a time -> nothing (expiry)",
		"primary lock: nothing -> b for a time (SET by client-1)",
		"primary lock: b for a time -> b for a time (PEXPIRE by client-1)",
		"primary lock: b for a time -> nothing (expiry)",
		"primary lock: nothing -> c (SET by client-1)",
	)
	end := time.Now()
	for _, c := range changes {
		if c.At.Before(begin) || c.At.After(end) {
			t.Errorf("told at %s, which is not between %s and %s: %s", c.At, begin, end, said(c))
		}
		if ttl := c.After.ExpireAt.Sub(c.Now); !c.After.ExpireAt.IsZero() && (ttl > time.Minute || ttl < 200*time.Millisecond) {
			t.Errorf("a time to live of %s by the server's clock: %s", ttl, said(c))
		}
	}
	if len(changes) == 6 {
		if took := changes[4].At.Sub(asked); took < 100*time.Millisecond || took > 160*time.Millisecond {
			t.Errorf("300ms of a clock at twice the speed took %s", took)
		}
	}
}

func TestTheTruthOfAClusterIsToldByEveryNode(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 3, Replicas: 1, Cluster: true})
	c := client(t, s, "client-1", 1)
	v := observe(t, s)
	ctx := t.Context()
	for _, key := range []string{"lock:1", "lock:2", "lock:3", "lock:4", "lock:5", "lock:6"} {
		check(t, c.Set(ctx, key, "a", 0).Err())
	}
	told := func(role string) int {
		n := 0
		for _, name := range s.Names() {
			for _, c := range v.changes(name) {
				if c.Role == role {
					n++
				}
			}
		}
		return n
	}
	if got := told(rolePrimary); got != 6 {
		t.Errorf("of 6 writes %d were told", got)
	}
	eventually(t, "the replicas tell as well", func() bool { return told(roleReplica) == 6 })
}

func TestTheTruthSurvivesAFailover(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 1, Replicas: 1, Sentinel: true})
	v := observe(t, s)
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	heal, err := s.Cut("node-1", "node-1-replica-1")
	check(t, err)
	defer heal()
	check(t, c.SetNX(ctx, "lock", "a", 0).Err())
	check(t, s.StopNode("node-1"))
	check(t, s.Promote("node-1-replica-1"))
	eventually(t, "the lock is taken again", func() bool { return c.SetNX(ctx, "lock", "b", 0).Val() })
	heal()
	check(t, s.StartNode("node-1", false))
	check(t, s.Follow("node-1"))
	eventually(t, "the old primary has what the new one has", func() bool {
		got := v.changes("node-1")
		return len(got) > 0 && got[len(got)-1].After.Str == "b"
	})
	v.want("node-1",
		"primary lock: nothing -> a (SET by client-1)",
		"primary lock: a -> nothing (restart)",
		"replica lock: nothing -> b (replication)",
	)
	v.want("node-1-replica-1", "primary lock: nothing -> b (SET by client-1)")
}

func TestTheTruthTellsWhatARestartLoses(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 1, Persist: true})
	v := observe(t, s)
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Set(ctx, "lock", "a", 0).Err())
	check(t, c.Set(ctx, "lock:short", "b", 30*time.Millisecond).Err())
	check(t, s.StopNode("node-1"))
	v.changes("node-1")
	time.Sleep(30 * time.Millisecond) // until it has expired while no observer was there
	check(t, s.StartNode("node-1", true))
	check(t, c.Set(ctx, "lock", "c", 0).Err())
	check(t, s.StopNode("node-1"))
	check(t, s.StartNode("node-1", false))
	check(t, c.Set(ctx, "lock", "d", 0).Err())
	v.want("node-1",
		"primary lock: nothing -> a (SET by client-1)",
		"primary lock:short: nothing -> b for a time (SET by client-1)",
		"primary lock:short: b for a time -> nothing (expiry)",
		"primary lock: a -> c (SET by client-1)",
		"primary lock: c -> nothing (restart)",
		"primary lock: nothing -> d (SET by client-1)",
	)
}

func TestTheTruthDoubtsItselfWhenANodeHoldsSomethingElse(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Groups: 1})
	truth, err := startTruth(s, func(string) bool { return true }, func(keyspace.Change) {})
	check(t, err)
	defer truth.Close()
	ctx := t.Context()
	check(t, admin(t, s, "node-1").ConfigSet(ctx, "notify-keyspace-events", "").Err())
	check(t, admin(t, s, "node-1").Set(ctx, "lock", "a", 0).Err()) // without an event
	eventually(t, "the difference is noticed", func() bool { return truth.Err() != nil })
	if !strings.Contains(truth.Err().Error(), `"lock"`) {
		t.Errorf("the error does not name the key: %v", truth.Err())
	}
}
