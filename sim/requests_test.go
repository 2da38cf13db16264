package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/sim"
)

var toNode1 = faults.Link{From: "client-1", To: "node-1"}

// impatient is a client that gives a connection up after a second, and does not
// ask again.
func impatient(w *sim.World) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: w.Addresses(1)[0], Dialer: w.Dialer(w.Process("client-1")),
		MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second, DisableIdentity: true,
	})
}

// A request that is held is executed when it is released, after what its client
// sent later, although the client has closed the connection.
func TestAHeldRequestOutlivesItsConnection(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		release, err := w.HoldRequest(toNode1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RPush(ctx, "k", "first").Err(); err == nil {
			t.Error("a request that is held was answered")
		}
		if n := w.Connections(); n != 0 {
			t.Errorf("%d connections, want none: the client has given it up", n)
		}
		if err := c.RPush(ctx, "k", "second").Err(); err != nil {
			t.Errorf("another connection is held as well: %v", err)
		}
		time.Sleep(time.Minute)
		release()
		time.Sleep(time.Second)
		if got := c.LRange(ctx, "k", 0, -1).Val(); len(got) != 2 || got[0] != "second" || got[1] != "first" {
			t.Errorf("executed %v, want second, then first", got)
		}
	})
}

// A fault at the moment at which a request is received holds that request.
func TestTheRequestOfTheMomentIsHeld(t *testing.T) {
	var w *sim.World
	var release func()
	hold := func(m faults.Moment) {
		if m.Name == faults.Received && m.Command == "INCR" && release == nil {
			release, _ = w.HoldRequest(toNode1)
		}
	}
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, OnMoment: hold}, func(ctx context.Context, world *sim.World) {
		w = world
		c := impatient(w)
		defer c.Close()
		if err := c.Incr(ctx, "k").Err(); err == nil {
			t.Error("the request was not held")
		}
		if err := c.Incr(ctx, "k").Err(); err != nil {
			t.Error(err)
		}
		release()
		time.Sleep(time.Second)
		if n := c.Get(ctx, "k").Val(); n != "2" {
			t.Errorf("executed %s times, want 2", n)
		}
	})
}

func TestRefusedConnections(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		old, late := impatient(w), impatient(w)
		defer old.Close()
		defer late.Close()
		if err := old.Ping(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		allow, err := w.Refuse(toNode1)
		if err != nil {
			t.Fatal(err)
		}
		if err := late.Ping(ctx).Err(); err == nil {
			t.Error("a connection was opened")
		}
		if err := old.Ping(ctx).Err(); err != nil {
			t.Errorf("an open connection: %v", err)
		}
		allow()
		if err := late.Ping(ctx).Err(); err != nil {
			t.Errorf("when connections are allowed again: %v", err)
		}
	})
}
