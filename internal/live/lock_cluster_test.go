package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/lock"
)

// shards is a cluster of three servers without replicas.
type shards struct {
	addrs []string
	nodes []*redis.Client
	ids   []string
	seen  scripts // of all clients
}

func newShards(t *testing.T) *shards {
	t.Helper()
	ctx := t.Context()
	s := &shards{}
	for range 3 {
		bus := livetest.FreePort(t)
		addr := livetest.SpawnRedis(t, "cluster-enabled yes\ncluster-port "+bus+"\n")
		c := livetest.Dial(t, addr, "")
		id, err := c.ClusterMyID(ctx).Result()
		check(t, err)
		s.addrs, s.nodes, s.ids = append(s.addrs, addr), append(s.nodes, c), append(s.ids, id)
		if i := len(s.nodes) - 1; i > 0 {
			check(t, c.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
			check(t, c.ClusterAddSlotsRange(ctx, i*5461+1, (i+1)*5461).Err())
			check(t, s.nodes[0].Do(ctx, "cluster", "meet", "127.0.0.1", port(t, addr), bus).Err())
		} else {
			check(t, c.Do(ctx, "cluster", "set-config-epoch", 1).Err())
			check(t, c.ClusterAddSlotsRange(ctx, 0, 5461).Err())
		}
	}
	eventually(t, "all nodes know all others", func() bool {
		for _, c := range s.nodes {
			info := c.ClusterInfo(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	})
	return s
}

func port(t *testing.T, addr string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	check(t, err)
	return p
}

// client opens a lock client on the cluster. One that is old takes the cluster for a
// single server, as far as messages go.
func (s *shards) client(t *testing.T, old bool, opts ...lock.Option) *lock.Client {
	t.Helper()
	var rdb redis.UniversalClient = redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.addrs})
	t.Cleanup(func() { rdb.Close() })
	rdb.(*redis.ClusterClient).AddHook(&s.seen)
	if old {
		rdb = struct{ redis.UniversalClient }{rdb}
	}
	c, err := lock.New(rdb, opts...)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// owner is the node that has the slot of a name.
func (s *shards) owner(t *testing.T, name string) int {
	t.Helper()
	slot, err := s.nodes[0].ClusterKeySlot(t.Context(), name).Result()
	check(t, err)
	return int(min(max(slot-1, 0)/5461, 2))
}

// listening says whether a node has a subscriber of a channel; what is channels, or
// shardchannels.
func (s *shards) listening(t *testing.T, node int, what, pattern string) bool {
	t.Helper()
	channels, err := s.nodes[node].Do(t.Context(), "pubsub", what, pattern).StringSlice()
	check(t, err)
	return len(channels) > 0
}

// broadcast is the number of messages that the nodes have sent to all others.
func (s *shards) broadcast(t *testing.T) (n int) {
	t.Helper()
	for _, c := range s.nodes {
		for line := range strings.Lines(c.ClusterInfo(t.Context()).Val()) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "cluster_stats_messages_publish_sent:"); ok {
				sent, err := strconv.Atoi(v)
				check(t, err)
				n += sent
			}
		}
	}
	return n
}

// taker takes a lock, the fair one or the other.
func taker(fair bool) func(ctx context.Context, c *lock.Client, name string) (*lock.Hold, error) {
	if fair {
		return func(ctx context.Context, c *lock.Client, name string) (*lock.Hold, error) {
			return c.NewFairLock(name).Acquire(ctx)
		}
	}
	return func(ctx context.Context, c *lock.Client, name string) (*lock.Hold, error) {
		return c.Acquire(ctx, name)
	}
}

// later takes a lock in the background, and releases it. It then tells when it took the lock:
// the end of the test closes the client.
func later(t *testing.T, c *lock.Client, fair bool, name string) <-chan time.Time {
	t.Helper()
	done := make(chan time.Time, 1)
	go func() {
		h, err := taker(fair)(t.Context(), c, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			close(done)
			return
		}
		took := time.Now()
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("%s: release: %v", name, err)
		}
		done <- took
	}()
	return done
}

func TestLock_inACluster(t *testing.T) {
	t.Parallel()
	livetest.RequireRedis(t)
	s := newShards(t)
	t.Run("messages stay in their slot", s.messagesStayInTheirSlot)
	t.Run("mixed processes", s.mixedProcesses)
	t.Run("a slot moves", s.aSlotMoves)
	t.Run("acks after a move", s.acksAfterAMove)
}

// A message stays with the nodes of its slot, and wakes who waits there,
// whichever node that is.
func (s *shards) messagesStayInTheirSlot(t *testing.T) {
	holder := s.client(t, false)
	waiter := s.client(t, false, lock.WithSafetyPoll(20*time.Second))
	for _, fair := range []bool{false, true} {
		seen := map[int]bool{}
		for i := range 9 {
			name := fmt.Sprintf("orders-%d", i)
			if seen[s.owner(t, name)] && i > 5 {
				continue
			}
			seen[s.owner(t, name)] = true
			h, err := taker(fair)(t.Context(), holder, name)
			check(t, err)
			asked := s.seen.of(name)
			done := later(t, waiter, fair, name)
			eventually(t, "the waiter listens at the node of the slot", func() bool {
				return s.listening(t, s.owner(t, name), "shardchannels", "*{"+name+"}*")
			})
			await(t, "it looks after the confirmation", asked, 2)
			start := time.Now()
			check(t, h.Release(t.Context()))
			if got := <-done; got.Sub(start) > 5*time.Second {
				t.Errorf("%s, fair %v: woken after %v", name, fair, got.Sub(start))
			}
		}
		if len(seen) != 3 {
			t.Errorf("locks on %d nodes", len(seen))
		}
	}
	if n := s.broadcast(t); n > 0 {
		t.Errorf("%d messages went to all nodes", n)
	}
}

// A process of before, which tells all nodes and listens to them, and one of today
// find each other by their looks, within a poll.
func (s *shards) mixedProcesses(t *testing.T) {
	for _, fair := range []bool{false, true} {
		for _, old := range []bool{false, true} {
			name := fmt.Sprintf("mixed-%v-%v", fair, old)
			poll := lock.WithSafetyPoll(200 * time.Millisecond)
			h, err := taker(fair)(t.Context(), s.client(t, !old, poll), name)
			check(t, err)
			done := later(t, s.client(t, old, poll), fair, name)
			what := "shardchannels"
			if old {
				what = "channels"
			}
			eventually(t, "the waiter listens", func() bool {
				for i := range s.nodes {
					if s.listening(t, i, what, "*{"+name+"}*") {
						return true
					}
				}
				return false
			})
			start := time.Now()
			check(t, h.Release(t.Context()))
			if got := <-done; got.Sub(start) > 3*time.Second {
				t.Errorf("%s: woken after %v", name, got.Sub(start))
			}
		}
	}
}

// Waiters follow their lock to another node, when its slot goes there.
func (s *shards) aSlotMoves(t *testing.T) {
	ctx := t.Context()
	for _, fair := range []bool{false, true} {
		name := fmt.Sprintf("moving-%v", fair)
		from := s.owner(t, name)
		to := (from + 1) % 3
		slot := s.nodes[0].ClusterKeySlot(ctx, name).Val()
		h, err := taker(fair)(ctx, s.client(t, false), name)
		check(t, err)
		asked := s.seen.of(name)
		done := later(t, s.client(t, false, lock.WithSafetyPoll(20*time.Second)), fair, name)
		eventually(t, "the waiter listens", func() bool { return s.listening(t, from, "shardchannels", "*{"+name+"}*") })
		await(t, "it looks after the confirmation", asked, 2)
		s.move(t, slot, from, to)
		eventually(t, "the waiter listens at the other node", func() bool { return s.listening(t, to, "shardchannels", "*{"+name+"}*") })
		await(t, "it looks after the confirmation of the other node", asked, 1)
		start := time.Now()
		check(t, h.Release(ctx))
		if got := <-done; got.Sub(start) > 1500*time.Millisecond {
			t.Errorf("%s: woken after %v", name, got.Sub(start))
		}
	}
}

// move gives a slot with its keys to another node.
func (s *shards) move(t *testing.T, slot int64, from, to int) {
	t.Helper()
	ctx := t.Context()
	check(t, s.nodes[to].Do(ctx, "cluster", "setslot", slot, "importing", s.ids[from]).Err())
	check(t, s.nodes[from].Do(ctx, "cluster", "setslot", slot, "migrating", s.ids[to]).Err())
	for {
		keys, err := s.nodes[from].ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		check(t, err)
		if len(keys) == 0 {
			break
		}
		args := []any{"migrate", "127.0.0.1", port(t, s.addrs[to]), "", 0, 5000, "keys"}
		for _, key := range keys {
			args = append(args, key)
		}
		check(t, s.nodes[from].Do(ctx, args...).Err())
	}
	for _, i := range []int{to, from, 3 - from - to} {
		check(t, s.nodes[i].Do(ctx, "cluster", "setslot", slot, "node", s.ids[to]).Err())
	}
}

// An acquire that waits for replicas follows a slot that has moved: its client of a
// single node follows no redirection.
func (s *shards) acksAfterAMove(t *testing.T) {
	ctx := t.Context()
	name := "orders"
	slot, err := s.nodes[0].ClusterKeySlot(ctx, name).Result()
	check(t, err)
	from := s.owner(t, name)
	c := s.client(t, false, lock.WithReplicaAcks(1, 20*time.Millisecond))
	for range 2 { // without replicas each attempt reaches the node, and is not confirmed
		if _, err := c.Acquire(ctx, name, lock.Wait(0)); !errors.Is(err, lock.ErrAcks) {
			t.Fatalf("acquire: %v, want %v", err, lock.ErrAcks)
		}
		s.move(t, slot, from, (from+1)%3)
		from = (from + 1) % 3
	}
}
