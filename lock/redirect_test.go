package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// redirect makes both nodes send every script about a lock to the other node, until the time
// has come. Then the second node has the lock, and answers with an error unless that is "".
func (k *cluster) redirect(name string, until time.Time, refusal string) {
	for i, w := range k.nodes {
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			switch {
			case !strings.HasPrefix(strings.ToLower(cmd), "eval"):
				return k.serve(i, p, cmd, args)
			case i == 0 || time.Now().Before(until):
				p.WriteError(fmt.Sprintf("MOVED %d %s", slotOf[name], addr(1-i)))
			case refusal != "":
				p.WriteError(refusal)
			default:
				return false
			}
			return true
		})
	}
}

// A slot is on its way for longer than an attempt of an acquire takes. A wait goes on until
// it has arrived. A single attempt says that no server has taken the lock.
func TestCluster_redirectsOnAndOn(t *testing.T) {
	for kind, acquire := range map[string]func(context.Context, *lock.Client, ...lock.AcquireOption) (*lock.Hold, error){
		"plain": func(ctx context.Context, c *lock.Client, opts ...lock.AcquireOption) (*lock.Hold, error) {
			return c.Acquire(ctx, "job-2", opts...)
		},
		"fair": func(ctx context.Context, c *lock.Client, opts ...lock.AcquireOption) (*lock.Hold, error) {
			return c.NewFairLock("job-2").Acquire(ctx, opts...)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			inCluster(t, func(t *testing.T, k *cluster) {
				c := k.client(lock.WithUnlockTimeout(time.Second))
				arrives := time.Now().Add(5 * time.Second)
				k.redirect("job-2", arrives, "")
				_, err := acquire(t.Context(), c, lock.Wait(0))
				wantErr(t, "a single attempt", err, lock.ErrRefused)
				h := must[*lock.Hold](t)(acquire(t.Context(), c, lock.Wait(time.Minute)))
				if d := time.Since(arrives); d < 0 || d > 2*time.Second {
					t.Errorf("granted %v after the slot has arrived", d)
				}
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A request was redirected, and then refused. So no server has taken the lock, the caller
// learns that, and nothing has to be taken back.
func TestCluster_redirectedAndRefused(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.redirect("job-2", time.Now(), "NOPERM this user has no permissions")
		for _, opts := range [][]lock.AcquireOption{{lock.Wait(0)}, {lock.Wait(time.Minute)}} {
			before := len(k.seen(time.Time{}, "evalsha", "job-2"))
			_, err := k.client().Acquire(t.Context(), "job-2", opts...)
			wantErr(t, "acquire", err, lock.ErrRefused)
			if n := len(k.seen(time.Time{}, "evalsha", "job-2")) - before; n != 2 {
				t.Errorf("%d requests arrived, want the acquire at both nodes", n)
			}
		}
	})
}

// A hold was redirected to the node that has its slot now. No copy of its acquire is on its
// way, so its end asks for nothing more.
func TestCluster_redirectedAndGranted(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.redirect("job-2", time.Now(), "")
		h := must[*lock.Hold](t)(k.client().Acquire(t.Context(), "job-2", lock.Lease(time.Second)))
		<-h.Lost()
		before := time.Now()
		time.Sleep(5 * time.Second)
		if at := k.seen(before, "evalsha", "job-2"); len(at) > 0 {
			t.Errorf("requests arrived %v after the loss of the hold", at)
		}
	})
}

// A node loses its answer after a redirection, and refuses the repetition. Only one of the
// three writes has no answer, and that one took the lock. So it is taken back.
func TestCluster_redirectedAndLost(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		rdb := k.redis(func(o *redis.ClusterOptions) { o.MaxRetries = 1 })
		c := k.nodes[0].clientOn(rdb)
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "job-1")) // the second node has the script from here on
		k.redirect("job-2", time.Now(), "")
		k.nodes[1].dropReply("job-2", 1)
		var calls atomic.Int32
		whole := *k.nodes[1].answer.Load()
		k.nodes[1].answers(func(p *server.Peer, cmd string, args ...string) bool {
			if cmd != "EVALSHA" || calls.Add(1) != 2 {
				return whole(p, cmd, args...)
			}
			p.WriteError("NOPERM this user has no permissions")
			return true
		})
		_, err := c.Acquire(t.Context(), "job-2", lock.Wait(0))
		wantErr(t, "acquire", err, lock.ErrUnknown)
		if k.nodes[1].server.Exists("job-2") {
			t.Error("nobody has the lock, and it is not free")
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client of one server asks a node of a cluster that has other slots. No later try will
// help, so even a long wait ends.
func TestLock_redirectedOutsideOfACluster(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.redirect("job-2", time.Now(), "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := k.nodes[0].client().Acquire(ctx, "job-2")
		wantErr(t, "acquire", err, lock.ErrRefused)
		if !redis.HasErrorPrefix(err, "MOVED") || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the answer of the server", err)
		}
	})
}
