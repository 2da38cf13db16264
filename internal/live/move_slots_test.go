package live

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/servers"
)

// Real servers answer as those of the simulated world do, see
// TestNodesRedirectWhileSlotsMove. Keys of all types keep their values and their expiry,
// and the observers tell that they moved.
func TestSlotsMoveBetweenRealServers(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 3, Replicas: 1, Cluster: true}, LockKeys: []string{"lock:{stock}"}})
	v := observe(t, w.Servers)
	ctx, c := t.Context(), client(t, w, "client-1", 1)
	const key, absent = "lock:{stock}", "lock:{stock}:absent"
	check(t, c.Set(ctx, key, "v", time.Minute).Err())
	check(t, c.HSet(ctx, key+"h", "f", "x").Err())
	check(t, c.RPush(ctx, key+"l", "x", "y").Err())
	check(t, c.ZAdd(ctx, key+"z", redis.Z{Score: 1.5, Member: "x"}).Err())
	finish, err := w.MoveSlots("node-1", "node-2", false)
	check(t, err)
	from, to := admin(t, w.Servers, "node-1"), admin(t, w.Servers, "node-2")
	two := func(c *redis.Client, a, b string) error { return c.Eval(ctx, "return 1", []string{a, b}).Err() }
	says := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	says("a key that is not here", from.Get(ctx, absent).Err(), "ASK")
	says("one of two", two(from, key, absent), "TRYAGAIN")
	says("none of two", two(from, absent, absent+"2"), "ASK")
	says("the new node", to.Get(ctx, absent).Err(), "MOVED")
	check(t, c.Get(ctx, key).Err())
	check(t, finish())
	says("the old node afterwards", from.Get(ctx, key).Err(), "MOVED")
	if got := c.Get(ctx, key).Val() + c.HGet(ctx, key+"h", "f").Val() + strings.Join(c.LRange(ctx, key+"l", 0, -1).Val(), ""); got != "vxxy" {
		t.Errorf("the new node has %q", got)
	}
	if left, score := c.PTTL(ctx, key).Val(), c.ZScore(ctx, key+"z", "x").Val(); left < 50*time.Second || score != 1.5 {
		t.Errorf("the new node has %s left, and the score %g", left, score)
	}
	for node, want := range map[string]int{"node-1": 4, "node-2": 4} {
		n := 0
		for _, c := range v.changes(node) {
			if c.Cause == "migration" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d keys moved, want %d", node, n, want)
		}
	}
}
