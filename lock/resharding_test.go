package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// shards is a real cluster of two nodes. The first has all slots at the beginning.
type shards struct {
	t     *testing.T
	nodes [2]*redis.Client
	ids   [2]string
}

func startShards(t *testing.T) *shards {
	t.Helper()
	ctx := t.Context()
	s := &shards{t: t}
	for i := range s.nodes {
		s.nodes[i] = redis.NewClient(&redis.Options{Addr: redisServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")})
		t.Cleanup(func() { s.nodes[i].Close() })
		s.ids[i] = must[string](t)(s.nodes[i].Do(ctx, "cluster", "myid").Text())
	}
	s.do(0, "cluster", "addslotsrange", 0, 16383)
	host, port, _ := net.SplitHostPort(s.nodes[1].Options().Addr)
	s.do(0, "cluster", "meet", host, port)
	for i := range s.nodes { // until both know of both, and of the slots
		for {
			known := s.nodes[i].ClusterInfo(ctx).Val()
			if strings.Contains(known, "cluster_state:ok") && strings.Contains(known, "cluster_known_nodes:2") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return s
}

func (s *shards) do(node int, args ...any) {
	s.t.Helper()
	if err := s.nodes[node].Do(s.t.Context(), args...).Err(); err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
}

// client returns a client of the cluster.
func (s *shards) client(opts ...lock.Option) *lock.Client {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.nodes[0].Options().Addr}})
	return realClient(s.t, rdb, opts...)
}

// migrate begins to move the slot of a lock to the second node.
func (s *shards) migrate(name string) (slot int64) {
	slot = s.nodes[0].ClusterKeySlot(s.t.Context(), name).Val()
	s.do(1, "cluster", "setslot", slot, "importing", s.ids[0])
	s.do(0, "cluster", "setslot", slot, "migrating", s.ids[1])
	return slot
}

// moveKeys moves what the first node has of a slot.
func (s *shards) moveKeys(slot int64) {
	ctx := s.t.Context()
	host, port, _ := net.SplitHostPort(s.nodes[1].Options().Addr)
	for _, key := range s.nodes[0].ClusterGetKeysInSlot(ctx, int(slot), 100).Val() {
		s.do(0, "migrate", host, port, key, 0, 1000)
	}
}

// finish ends the move of a slot.
func (s *shards) finish(slot int64) {
	for i := range s.nodes {
		s.do(1-i, "cluster", "setslot", slot, "node", s.ids[1])
	}
}

// A lock can be nested, extended and released while its slot migrates, whichever node has
// its keys. A plain lock can be taken, too. One with tokens or a queue has several keys,
// which no server takes then, so it is granted after the move. No wait ends with the
// server's refusal.
func TestResharding(t *testing.T) {
	s := startShards(t)
	for kind, opts := range map[string][]lock.Option{"plain": nil, "fenced": {lock.WithFencing()}, "fair": nil} {
		for when, move := range map[string]bool{"before its keys": false, "after its keys": true} {
			t.Run(kind+" "+when, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				name := fmt.Sprintf("%s-%v", kind, move)
				c := s.client(append(opts, lock.WithUnlockTimeout(2*time.Second), lock.WithSafetyPoll(300*time.Millisecond))...)
				acquire := func(opts ...lock.AcquireOption) (*lock.Hold, error) {
					if kind == "fair" {
						return c.NewFairLock(name).Acquire(ctx, opts...)
					}
					return c.Acquire(ctx, name, opts...)
				}
				h := must[*lock.Hold](t)(acquire())
				nested := c.NewLock(name, "nested")
				slot := s.migrate(name)
				if move {
					s.moveKeys(slot)
				}
				if err := h.Extend(ctx, time.Minute); err != nil {
					t.Errorf("extend: %v", err)
				}
				var waiter *lock.Hold
				waited := make(chan error, 1)
				go func() {
					h, err := acquire(lock.Wait(30 * time.Second))
					waiter = h
					waited <- err
				}()
				if err := h.Release(ctx); err != nil {
					t.Errorf("release: %v", err)
				}
				if kind != "plain" {
					_, err := acquire(lock.Wait(time.Second))
					// No server says whether a fair waiter has left the queue.
					if !errors.Is(err, lock.ErrRefused) && !errors.Is(err, lock.ErrBusy) && !(kind == "fair" && errors.Is(err, lock.ErrUnknown)) {
						t.Errorf("acquire meanwhile: %v, want ErrRefused or ErrBusy", err)
					}
					s.moveKeys(slot)
					s.finish(slot)
				}
				if err := <-waited; err != nil {
					t.Fatalf("wait: %v", err)
				}
				if err := waiter.Release(ctx); err != nil {
					t.Errorf("release of the waiter: %v", err)
				}
				if kind == "plain" {
					for range 2 {
						must[lock.Grant](t)(nested.Lock(ctx))
					}
					for range 2 {
						must[int](t)(nested.Unlock(ctx))
					}
					s.moveKeys(slot)
					s.finish(slot)
				}
				h = must[*lock.Hold](t)(acquire())
				if err := h.Release(ctx); err != nil {
					t.Errorf("release after the move: %v", err)
				}
			})
		}
	}
}
