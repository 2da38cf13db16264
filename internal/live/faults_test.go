package live

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
)

// Every fault that scenarios can name strikes real servers and ends, and a
// client can work afterwards.
func TestEveryFaultStrikesAndEnds(t *testing.T) {
	t.Parallel()
	livetest.RequireCompiler(t)
	w, p := startWorld(t, WorldOptions{
		Options:  servers.Options{Clients: 1, Groups: 1, Replicas: 2, Sentinel: true, Persist: true, Clocks: true, User: true},
		LockKeys: []string{"lock"}, OnMoment: func(faults.Moment) {},
	})
	c := client(t, w, "client-1", 1)
	topology := faults.Topology{World: "live", Clients: 1, Groups: 1, Replicas: 2}
	me, primary := faults.Names{"client-1"}, faults.Names{"primary"}
	ms := faults.Duration(time.Millisecond)
	left := faults.Vocabulary()
	for _, s := range []faults.Spec{
		{Fault: "cancel", Target: me},
		{Fault: "pause", Target: me, For: ms},
		{Fault: "partition", Target: me, Peer: primary, For: ms},
		{Fault: "delay", Target: me, By: 5 * ms, For: ms},
		{Fault: "hold-reply", Target: me, For: ms},
		{Fault: "hold-request", Target: me, For: ms},
		{Fault: "refuse", Target: me, For: ms},
		{Fault: "half-open", Target: me, For: ms},
		{Fault: "half-open", Target: me, Mode: "client-gone", For: ms},
		{Fault: "reset", Target: me},
		{Fault: "drop-message", Target: me, For: ms},
		{Fault: "slow-subscribe", Target: me, By: 5 * ms, For: ms},
		{Fault: "replication-lag", Target: primary, By: 5 * ms, For: ms},
		{Fault: "cut-replication", Target: primary, For: ms},
		{Fault: "deny", Target: primary, For: ms},
		{Fault: "deny", Target: primary, Mode: "expiry", For: ms},
		{Fault: "deny", Target: primary, Mode: "memory", For: ms},
		{Fault: "half-open", Target: me, Mode: "silent"},
		{Fault: "clock-jump", Target: primary, By: 1000 * ms},
		{Fault: "clock-drift", Target: primary, Rate: 1.1, For: ms},
		{Fault: "script-flush", Target: primary},
		{Fault: "delete-key", Target: primary},
		{Fault: "node-restart", Target: primary, Data: "keep"},
		{Fault: "node-crash", Target: faults.Names{"node-1-replica-2"}, For: ms},
		{Fault: "failover", Target: primary, Mode: "planned", To: "node-1-replica-2"},
		{Fault: "failover", Target: primary, For: ms, To: "node-1"},
		{Fault: "failover", Target: primary, Mode: "isolate", To: "node-1-replica-1"},
		{Fault: "crash", Target: me},
	} {
		eventually(t, "the client works before "+s.Fault, func() bool { return c.Set(t.Context(), "lock", "v", 0).Err() == nil })
		k, _ := faults.Lookup(s.Fault)
		check(t, k.Available(s, topology))
		begin := time.Now()
		detail, heal, err := k.Strike(w, s, topology, 1)
		struck := time.Since(begin)
		if err == nil && heal != nil {
			err = heal()
		}
		if err != nil {
			t.Errorf("%s %s: %v", s.Fault, s.Mode, err)
		}
		t.Logf("%s %s struck in %s and ended after %s: %s", s.Fault, s.Mode, struck, time.Since(begin), detail)
		left = slices.DeleteFunc(left, func(k faults.Kind) bool { return k.Name == s.Fault })
	}
	left = slices.DeleteFunc(left, func(k faults.Kind) bool { return k.Name == "move-slots" }) // see TestSlotsMoveBetweenRealServers
	for _, k := range left {
		t.Errorf("%s was not tried", k.Name)
	}
	if want := []string{"cancel", "pause", "resume", "kill"}; !slices.Equal(p.calls, want) {
		t.Errorf("the process saw %v", p.calls)
	}
}
