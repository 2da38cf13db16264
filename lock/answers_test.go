package lock_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/lock"
)

// The lengths of the requests of an acquire and of a release.
const acquireArgs, releaseArgs = 2 + 2 + 6, 2 + 2 + 7

// answerScripts answers the scripts whose requests have so many arguments.
func (w *world) answerScripts(n int, values ...any) {
	w.answers(func(p *server.Peer, cmd string, args ...string) bool {
		if !strings.HasPrefix(strings.ToLower(cmd), "eval") || len(args) != n {
			return false
		}
		p.WriteLen(len(values))
		for _, v := range values {
			switch v := v.(type) {
			case int:
				p.WriteInt(v)
			case string:
				p.WriteBulk(v)
			}
		}
		return true
	})
}

// Somebody has changed the server, or stands before it: an answer that the lock does
// not know is no grant, and no refusal.
func TestLock_answersThatMakeNoSense(t *testing.T) {
	for _, values := range [][]any{
		{},
		{1},
		{"what"},
		{"granted"},
		{"granted", 1, "0"},
		{"granted", "1", 0},
		{"granted", "1", "x"},
		{"granted", "-1", "0"},
		{"granted", "1", "0", 1000},
		{"busy"},
		{"busy", "x"},
		{"stale"},
		{"stale", "x"},
		{"gone", 1},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			l := w.client().NewLock("orders", "a")
			w.answerScripts(acquireArgs, values...)
			start := time.Now()
			_, err := l.TryLock(t.Context())
			wantErr(t, "try", err, lock.ErrUnknown)
			if d := time.Since(start); d > time.Second {
				t.Errorf("an answer of %v: told after %v", values, d)
			}
			if len(w.takeBacks()) == 0 {
				t.Errorf("an answer of %v: nothing was taken back", values)
			}
		})
	}
}

// The same for a release. It can be repeated.
func TestUnlock_answersThatMakeNoSense(t *testing.T) {
	for _, values := range [][]any{{}, {1}, {"none", 1}, {"released"}} {
		inBubble(t, func(t *testing.T, w *world) {
			ctx := t.Context()
			l := w.client().NewLock("orders", "a")
			must[lock.Grant](t)(l.TryLock(ctx))
			w.answerScripts(releaseArgs, values...)
			_, err := l.Unlock(ctx)
			wantErr(t, "unlock", err, lock.ErrUnknown)
			w.answers(func(*server.Peer, string, ...string) bool { return false })
			if n := must[int](t)(l.Unlock(ctx)); n != 0 || must[bool](t)(l.IsLocked(ctx)) {
				t.Errorf("an answer of %v: %d holds remain, or the lock is locked", values, n)
			}
		})
	}
}

// The server has lost a hold, and the owner learns of that from an acquire within it.
func TestLost_toldByANestedAcquire(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.TryLock(ctx))
		lost := l.Lost()
		w.server.Del("orders")
		_, err := l.TryLock(ctx)
		wantErr(t, "nested", err, lock.ErrLost)
		if !closed(lost) {
			t.Error("the loss is not told")
		}
		if w.server.Exists("orders") {
			t.Error("the nested acquire has taken the lock")
		}
	})
}

// Serials stay far below 2^53: scripts compare them as floating-point numbers. So a
// client whose serials are behind goes on right after the server's.
func TestSerial_goesOnAfterThatOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const seen = 8_000_000_000_000_000
		w.redis().Set(t.Context(), "holdfast_lock_note:{orders}:client-1:a", seen, time.Minute)
		must[lock.Grant](t)(w.client().NewLock("orders", "a").TryLock(t.Context()))
		serial := w.server.HGet("orders", "last")
		if n, _ := strconv.Atoi(serial); n <= seen || n > seen+10 {
			t.Errorf("serial %s after %d", serial, seen)
		}
	})
}

// The server counts in milliseconds, and a lease is never shorter than requested.
func TestLease_isRoundedUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for d, want := range map[time.Duration]time.Duration{
			10 * time.Second:                    10 * time.Second,
			10*time.Second + 1:                  10*time.Second + time.Millisecond,
			10*time.Second + time.Millisecond/2: 10*time.Second + time.Millisecond,
			10*time.Second + time.Millisecond:   10*time.Second + time.Millisecond,
		} {
			l := w.client().NewLock("orders", "a")
			must[lock.Grant](t)(l.TryLock(t.Context(), lock.Lease(d)))
			if ttl := w.server.TTL("orders"); ttl != want {
				t.Errorf("a lease of %v is %v on the server, want %v", d, ttl, want)
			}
			must[int](t)(l.Unlock(t.Context()))
		}
	})
}

// The server says when the holder's lease ends. A waiter that hears of no release asks
// no sooner.
func TestWait_theServerSaysWhenTheLeaseEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		rdb := w.redis()
		rdb.HSet(ctx, "orders", "somebody:else", 1)
		rdb.PExpire(ctx, "orders", 600*time.Millisecond) // a safety poll takes longer
		must[lock.Grant](t)(w.client().NewLock("orders", "a").Lock(ctx))
		if n := w.count("EVALSHA"); n > 3 {
			t.Errorf("%d attempts, want one when it comes, one when it is subscribed, and one at the end", n)
		}
	})
}

// printer is a hook that prints commands, as a tracer does.
type printer struct{ printed *[]string }

func (printer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (printer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (p printer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		*p.printed = append(*p.printed, cmd.String())
		return next(ctx, cmd)
	}
}

// A tracer prints the commands of a lock as they are sent.
func TestCommands_arePrintedAsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var printed []string
		rdb := w.redis(func(o *redis.Options) { o.ContextTimeoutEnabled = true })
		rdb.AddHook(printer{&printed})
		must[lock.Grant](t)(w.clientOn(rdb).NewLock("orders", "a").TryLock(t.Context()))
		sent := w.arrived()
		at := slices.IndexFunc(sent, func(e entry) bool { return strings.EqualFold(e.cmd, "evalsha") })
		want := "evalsha " + strings.Join(sent[at].args, " ")
		if !strings.HasPrefix(printed[0], want) {
			t.Errorf("printed %q, sent %q", printed[0], want)
		}
	})
}

// nodes is a cluster of two nodes, of which one has all the slots.
type nodes struct {
	*redis.ClusterClient
	one, two *world
	owner    atomic.Pointer[string] // its address; nil: unknown
}

func inACluster(t *testing.T, f func(t *testing.T, n *nodes)) {
	t.Helper()
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		n := &nodes{one: s.worlds[0], two: s.worlds[1]}
		n.ClusterClient = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{"one:1"},
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				owner := n.owner.Load()
				if owner == nil {
					return nil, errDown
				}
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: *owner}}}}, nil
			},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == "one:1" {
					return n.one.dial(ctx, network, addr)
				}
				return n.two.dial(ctx, network, addr)
			},
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer n.Close()
		f(t, n)
	})
}

// A replica of either node confirms every write. One without the slots says so.
func (n *nodes) confirm(owner string) {
	n.owner.Store(&owner)
	for addr, w := range map[string]*world{"one:1": n.one, "two:1": n.two} {
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			switch {
			case strings.EqualFold(cmd, "wait"):
				p.WriteInt(1)
			case addr != owner && strings.HasPrefix(strings.ToLower(cmd), "eval"):
				p.WriteError("MOVED 1 " + owner)
			default:
				return false
			}
			return true
		})
	}
}

// WAIT goes to the node that has the lock, with the acquire and once. It follows the
// lock to another node.
func TestReplicaAcks_ofACluster(t *testing.T) {
	inACluster(t, func(t *testing.T, n *nodes) {
		ctx := t.Context()
		n.confirm("one:1")
		l := n.one.clientOn(n.ClusterClient, lock.WithReplicaAcks(1, 50*time.Millisecond)).NewLock("orders", "a")
		must[lock.Grant](t)(l.TryLock(ctx))
		must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
		before := len(n.one.arrived())
		must[lock.Grant](t)(l.TryLock(ctx))
		var sent []string
		for _, e := range n.one.arrived()[before:] {
			sent = append(sent, strings.ToLower(e.cmd))
		}
		if got := strings.Join(sent, " "); !strings.HasPrefix(got, "evalsha ") || strings.Count(got, "eval") != 1 || strings.Count(got, "wait") != 1 {
			t.Errorf("sent %q, want the script and WAIT once", got)
		}
		must[int](t)(l.Unlock(ctx))
		for range 12 { // a node that is drawn at random is the other one at some time
			must[lock.Grant](t)(l.TryLock(ctx))
			must[int](t)(l.Unlock(ctx))
		}
		if n := n.two.count("wait 1"); n != 0 {
			t.Errorf("the other node was asked %d times", n)
		}

		n.confirm("two:1")
		must[lock.Grant](t)(l.TryLock(ctx))
		if n.one.server.Exists("orders") || !n.two.server.Exists("orders") {
			t.Error("the lock is not where its slot is")
		}
		must[int](t)(l.Unlock(ctx))
	})
}

// No server names the nodes of the slots: nothing was sent.
func TestReplicaAcks_ofAClusterWithoutSlots(t *testing.T) {
	inACluster(t, func(t *testing.T, n *nodes) {
		l := n.one.clientOn(n.ClusterClient, lock.WithReplicaAcks(1, 50*time.Millisecond)).NewLock("orders", "a")
		_, err := l.TryLock(t.Context())
		wantErr(t, "try", err, lock.ErrRefused)
		if !errors.Is(err, errDown) {
			t.Errorf("%v, want its reason", err)
		}
	})
}

// A server that still loads its data is asked a few times, and then the call or the
// watchdog gives up for now.
func TestTries(t *testing.T) {
	for what, f := range map[string]struct {
		ask  func(context.Context, *lock.Client) // a lock that is held for 10s by then
		want int32
	}{
		"an attempt to acquire": {func(ctx context.Context, c *lock.Client) { c.Acquire(ctx, "other", lock.Wait(0)) }, 3},
		"a question":            {func(ctx context.Context, c *lock.Client) { c.NewLock("orders", "a").IsLocked(ctx) }, 4},
		"a renewal":             {func(context.Context, *lock.Client) { time.Sleep(time.Second) }, 4},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.client()
				must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
				if what == "a renewal" {
					time.Sleep(9500 * time.Millisecond)
				}
				var asked atomic.Int32
				w.answers(func(p *server.Peer, cmd string, args ...string) bool {
					if cmd == "PING" || strings.EqualFold(cmd, "hello") {
						return false
					}
					asked.Add(1)
					p.WriteError("LOADING Redis is loading the dataset in memory")
					return true
				})
				f.ask(t.Context(), c)
				if n := asked.Load(); n != f.want {
					t.Errorf("it was asked %d times, want %d", n, f.want)
				}
				w.answers(func(*server.Peer, string, ...string) bool { return false })
			})
		})
	}
}

// A server that loads its data has granted nothing, and that is certain when the wait ends.
func TestWait_onAServerThatLoads(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.answers(func(p *server.Peer, cmd string, _ ...string) bool {
			if strings.HasPrefix(strings.ToUpper(cmd), "EVAL") {
				p.WriteError("LOADING Redis is loading the dataset in memory")
				return true
			}
			return false
		})
		_, err := w.client().Acquire(t.Context(), "orders", lock.Wait(300*time.Millisecond))
		wantErr(t, "a wait", err, lock.ErrRefused)
		if errors.Is(err, lock.ErrUnknown) {
			t.Errorf("it may have been granted: %v", err)
		}
	})
}
