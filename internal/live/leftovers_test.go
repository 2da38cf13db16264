package live

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
)

func TestWhatRemainsOfClientsIsCounted(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 2, Replicas: 1, Sentinel: true})
	observe(t, s)
	ctx := t.Context()
	remains := func() (keys []servers.Key, subscriptions, connections int) {
		t.Helper()
		keys, err := s.Keys(ctx)
		check(t, err)
		n, err := s.Subscriptions(ctx)
		check(t, err)
		return keys, n, s.ClientConnections()
	}
	if keys, subs, conns := remains(); keys != nil || subs != 0 || conns != 0 {
		t.Errorf("before any client: %v, %d subscriptions, %d connections", keys, subs, conns)
	}
	c := client(t, s, "client-1", 2)
	check(t, c.Set(ctx, "k", "v", 0).Err())
	check(t, c.Set(ctx, "gone", "v", 10*time.Millisecond).Err())
	sub := c.Subscribe(ctx, "news")
	_, err := sub.Receive(ctx)
	check(t, err)
	psub := c.PSubscribe(ctx, "n*")
	_, err = psub.Receive(ctx)
	check(t, err)
	eventually(t, "what the client has is counted", func() bool {
		keys, subs, conns := remains()
		return slices.Equal(keys, []servers.Key{{Node: "node-2", Name: "k"}}) && subs == 2 && conns >= 3
	})
	check(t, c.Del(ctx, "k").Err())
	check(t, sub.Close())
	check(t, psub.Close())
	check(t, c.Close())
	eventually(t, "nothing is left", func() bool {
		keys, subs, conns := remains()
		return keys == nil && subs == 0 && conns == 0
	})
}
