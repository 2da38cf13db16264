package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/lock"
)

// cluster is two servers that share the slots. miniredis has none of that, nor sharded
// channels.
type cluster struct {
	nodes [2]*world
	first atomic.Int64 // the first slot of the second node
	loads atomic.Int32 // how often a client has asked who has which slot
	gone  atomic.Bool  // no node answers that
	ask   [2]atomic.Int32

	mu   sync.Mutex
	subs [2]map[string][]*server.Peer // by sharded channel
}

// The answers of a node to the question for sharded channels.
const (
	sharded int32 = iota
	unsharded
	refuses
	silent
	breaks // the connection
)

// slotOf has the slots of the locks below.
var slotOf = map[string]int64{"job-1": 12685, "job-2": 494, "job-3": 4559, "job-5": 12553, "job-7": 4427}

func inCluster(t *testing.T, f func(t *testing.T, k *cluster)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		k := &cluster{nodes: [2]*world{w, newWorld(t)}}
		defer k.nodes[1].close()
		k.first.Store(8192)
		for i, w := range k.nodes {
			k.subs[i] = make(map[string][]*server.Peer)
			w.answers(func(p *server.Peer, cmd string, args ...string) bool { return k.serve(i, p, cmd, args) })
		}
		f(t, k)
	})
}

// at is the number of the node that has a lock.
func (k *cluster) at(name string) int {
	if slotOf[name] >= k.first.Load() {
		return 1
	}
	return 0
}

func addr(node int) string { return fmt.Sprintf("node-%d:1", node) }

// tag is the name of a lock in one of its keys or channels.
func tag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		key, _, _ = strings.Cut(rest, "}")
	}
	return key
}

// moved answers a command about a key of the other node.
func (k *cluster) moved(node int, p *server.Peer, key string) bool {
	at := k.at(tag(key))
	if at != node {
		p.WriteError(fmt.Sprintf("MOVED %d %s", slotOf[tag(key)], addr(at)))
	}
	return at != node
}

func push(p *server.Peer, kind, channel string, what any) {
	p.Block(func(w *server.Writer) {
		w.WritePushLen(3)
		w.WriteBulk(kind)
		w.WriteBulk(channel)
		switch what := what.(type) {
		case int:
			w.WriteInt(what)
		case string:
			w.WriteBulk(what)
		}
	})
	p.Flush()
}

func (k *cluster) serve(node int, p *server.Peer, cmd string, args []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	mode := k.ask[node].Load()
	switch cmd {
	case "COMMAND":
		if len(args) == 0 || args[0] != "info" {
			return false
		}
		switch mode {
		case sharded:
			p.Block(func(w *server.Writer) {
				w.WriteLen(1)
				w.WriteLen(6)
				w.WriteBulk("spublish")
				w.WriteInt(3)
				w.WriteLen(0)
				w.WriteInt(1)
				w.WriteInt(1)
				w.WriteInt(1)
			})
		case unsharded:
			p.Block(func(w *server.Writer) { w.WriteLen(1); w.WriteNull() })
		case refuses:
			p.WriteError("NOPERM no permission for this command")
		case breaks:
			p.Close()
		}
	case "EVAL", "EVALSHA":
		return k.moved(node, p, args[2])
	case "SSUBSCRIBE", "SUNSUBSCRIBE", "SPUBLISH":
		ch := args[0]
		switch {
		case mode == unsharded:
			return false // unknown
		case k.moved(node, p, ch):
		case cmd == "SSUBSCRIBE":
			k.subs[node][ch] = append(k.subs[node][ch], p)
			push(p, "ssubscribe", ch, 1)
		case cmd == "SUNSUBSCRIBE":
			k.subs[node][ch] = slices.DeleteFunc(k.subs[node][ch], func(q *server.Peer) bool { return q == p })
			push(p, "sunsubscribe", ch, 0)
		default:
			p.WriteInt(len(k.subs[node][ch]))
			for _, sub := range k.subs[node][ch] {
				push(sub, "smessage", ch, args[1])
			}
		}
	default:
		return false
	}
	return true
}

// split moves slots: the second node has those from first on. A node ends the sharded
// subscriptions of slots that it loses.
func (k *cluster) split(first int64) {
	k.first.Store(first)
	k.mu.Lock()
	defer k.mu.Unlock()
	for node := range k.nodes {
		for ch, peers := range k.subs[node] {
			if k.at(tag(ch)) != node {
				delete(k.subs[node], ch)
				for _, p := range peers {
					push(p, "sunsubscribe", ch, 0)
				}
			}
		}
	}
}

func (k *cluster) redis(change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	opts := &redis.ClusterOptions{
		Addrs: []string{addr(0)},
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			k.loads.Add(1)
			if k.gone.Load() {
				return nil, errors.New("nobody answers")
			}
			first := int(k.first.Load())
			return []redis.ClusterSlot{
				{Start: 0, End: first - 1, Nodes: []redis.ClusterNode{{Addr: addr(0)}}},
				{Start: first, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr(1)}}},
			}, nil
		},
		Dialer: func(ctx context.Context, network, to string) (net.Conn, error) {
			if to == addr(0) {
				return k.nodes[0].dial(ctx, network, to)
			}
			return k.nodes[1].dial(ctx, network, to)
		},
		MaxRedirects:             3,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, f := range change {
		f(opts)
	}
	rdb := redis.NewClusterClient(opts)
	k.nodes[0].t.Cleanup(func() { rdb.Close() })
	// The Redis client asks a node for its commands, and holds a mutex meanwhile. A
	// goroutine that waits for that mutex stops a virtual clock.
	rdb.Get(k.nodes[0].t.Context(), "job-2")
	return rdb
}

func (k *cluster) client(opts ...lock.Option) *lock.Client {
	return k.nodes[0].clientOn(k.redis(), opts...)
}

// seen is [world.seen] of both nodes.
func (k *cluster) seen(start time.Time, cmd, part string) []time.Duration {
	all := append(k.nodes[0].seen(start, cmd, part), k.nodes[1].seen(start, cmd, part)...)
	slices.Sort(all)
	return all
}

// handOn lets one client wait for what another holds, and returns how long the hand-off
// took.
func (k *cluster) handOn(t *testing.T, holder, waiter *lock.Client, name string) time.Duration {
	t.Helper()
	a, b := holder.NewLock(name, "a"), waiter.NewLock(name, "b")
	must[lock.Grant](t)(a.Lock(t.Context()))
	granted := waiting(t.Context(), t, waiter, name, "b")
	time.Sleep(time.Second)
	start := time.Now()
	must[int](t)(a.Unlock(t.Context()))
	at, ok := <-granted
	if !ok {
		t.Fatalf("%s: not granted", name)
	}
	must[int](t)(b.Unlock(t.Context()))
	return at.Sub(start)
}
