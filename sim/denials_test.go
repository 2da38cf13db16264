package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/sim"
)

// A lock depends on where in its script the server refuses a command: what came before
// has happened. Without memory nothing is refused once a script has written. Real servers
// answer the same.
func TestAServerRefusesCommands(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		eval := func(script string) error {
			if err := c.Eval(ctx, script, []string{"k"}).Err(); err != redis.Nil {
				return err
			}
			return nil
		}
		refused := func(what string, err error, with string) {
			if err == nil || !strings.Contains(err.Error(), with) {
				t.Errorf("%s: %v, want %s", what, err, with)
			}
		}
		must.Succeed(t, c.Set(ctx, "k", "v", 0).Err())
		free, err := w.FillMemory("node-1")
		must.Succeed(t, err)
		refused("SET without memory", c.Set(ctx, "k", "v", 0).Err(), "OOM")
		refused("a script that begins with SET", eval(`return redis.call('set', KEYS[1], 'w')`), "OOM")
		must.Succeed(t, eval(`redis.call('del', KEYS[1]) return redis.call('set', KEYS[1], 'w')`))
		_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "v", 0).Err() })
		refused("a transaction with SET", err, "EXECABORT")
		must.Succeed(t, free())
		must.Succeed(t, c.Set(ctx, "k", "v", 0).Err())

		allow, err := w.Deny("node-1", []string{"PUBLISH"})
		must.Succeed(t, err)
		refused("PUBLISH without the right", c.Publish(ctx, "c", "m").Err(), "NOPERM")
		refused("a script with it", eval(`redis.call('del', KEYS[1]) return redis.call('publish', 'c', 'm')`), "ERR The user executing the script")
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("the script has not done what came before")
		}
		must.Succeed(t, allow())
		must.Succeed(t, c.Publish(ctx, "c", "m").Err())
	})
}
