package sim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
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
		release, err := w.WithholdRequest(toNode1)
		must.Succeed(t, err)
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
			release, _ = w.WithholdRequest(toNode1)
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
		must.Succeed(t, old.Ping(ctx).Err())
		allow, err := w.Refuse(toNode1)
		must.Succeed(t, err)
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

// hearNews returns a subscription that the server has confirmed.
func hearNews(t *testing.T, ctx context.Context, c redis.UniversalClient) *redis.PubSub {
	heard := c.Subscribe(ctx, "news")
	_, err := heard.Receive(ctx)
	must.Succeed(t, err)
	return heard
}

// While a connection is half open, nothing that its client sends is executed or
// answered, and the client does not know. Then it does.
func TestAConnectionWhoseServerIsGone(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		heard := hearNews(t, ctx, c)
		defer heard.Close()
		must.Succeed(t, c.Ping(ctx).Err())
		tell, err := w.HalfOpen(toNode1, "node-1")
		must.Succeed(t, err)
		begin := time.Now()
		if err := c.Incr(ctx, "k").Err(); err == nil || time.Since(begin) < time.Second {
			t.Errorf("the client knew after %s: %v", time.Since(begin), err)
		}
		if n, err := c.Publish(ctx, "news", "lost").Result(); n != 0 || err != nil {
			t.Errorf("over a new connection %d subscribers got the message, want none: %v", n, err)
		}
		quiet := time.Now()
		if _, err := heard.ReceiveTimeout(ctx, time.Minute); time.Since(quiet) < time.Minute {
			t.Errorf("the subscriber knew after %s: %v", time.Since(quiet), err)
		}
		tell()
		told := time.Now()
		if _, err := heard.ReceiveTimeout(ctx, time.Minute); err == nil || time.Since(told) > time.Second {
			t.Errorf("the subscriber was told after %s: %v", time.Since(told), err)
		}
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("the server executed a request from a connection that it has not")
		}
	})
}

// A server keeps the connections of a client that is gone, with its
// subscriptions, and executes what has been sent to it.
func TestAConnectionWhoseClientIsGone(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		heard := hearNews(t, ctx, c)
		defer heard.Close()
		must.Succeed(t, c.Ping(ctx).Err())
		sent := make(chan error)
		go func() { sent <- c.Incr(ctx, "k").Err() }()
		time.Sleep(time.Nanosecond) // the request is under way
		tell, err := w.HalfOpen(toNode1, "client-1")
		must.Succeed(t, err)
		if err := <-sent; err == nil {
			t.Error("a request was answered to a client that is gone")
		}
		if n := c.Publish(ctx, "news", "lost").Val(); n != 1 {
			t.Errorf("the server has %d subscribers, want the one that is gone", n)
		}
		if n := c.Get(ctx, "k").Val(); n != "1" {
			t.Errorf("what was sent before was executed %q times", n)
		}
		tell()
		time.Sleep(time.Second)
		if n := c.Publish(ctx, "news", "lost").Val(); n != 0 {
			t.Errorf("the server has %d subscribers when it was told, want none", n)
		}
	})
}

// Moments come in the order of their events, and each before its client learns of it.
func TestMomentsOfWhatReachesAClient(t *testing.T) {
	var mu sync.Mutex // moments come from several goroutines
	var seen []string
	in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1, Arrivals: true, OnMoment: func(m faults.Moment) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.TrimSpace(m.Name+" "+m.Client+" "+m.Command))
	}}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		sub := redis.NewClient(&redis.Options{Addr: w.Addresses(1)[0], Dialer: w.Dialer(w.Process("client-2")), DisableIdentity: true})
		defer sub.Close()
		heard := hearNews(t, ctx, sub)
		defer heard.Close()
		mu.Lock()
		seen = nil
		mu.Unlock()
		must.Succeed(t, c.Publish(ctx, "news", "hello").Err())
		if _, err := heard.ReceiveMessage(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	})
	before := func(a, b string) {
		if i, j := slices.Index(seen, a), slices.Index(seen, b); i < 0 || j < i {
			t.Errorf("%q is not before %q in %q", a, b, seen)
		}
	}
	before("received client-1 PUBLISH", "executed client-1 PUBLISH")
	before("executed client-1 PUBLISH", "answered client-1 PUBLISH")
	before("executed client-1 PUBLISH", "published client-2")
	before("published client-2", "delivered client-2")
	if len(seen) != 5 {
		t.Errorf("got %q", seen)
	}
}

// A fault at such a moment strikes before the client has what arrives.
func TestAFaultStrikesBeforeTheClientReads(t *testing.T) {
	var w *sim.World
	var strikes sync.Map // moment -> func()
	moment := func(m faults.Moment) {
		if f, waits := strikes.LoadAndDelete(strings.TrimSpace(m.Name + " " + m.Command)); waits {
			f.(func())()
		}
	}
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Arrivals: true, OnMoment: moment}, func(ctx context.Context, world *sim.World) {
		w = world
		c := impatient(w)
		defer c.Close()
		heard := hearNews(t, ctx, c)
		defer heard.Close()
		strikes.Store("answered INCR", func() { _ = w.Reset(toNode1) })
		if err := c.Incr(ctx, "k").Err(); err == nil {
			t.Error("the client has a reply from a connection that broke before it could read it")
		}
		if n := c.Get(ctx, "k").Val(); n != "1" {
			t.Errorf("executed %q times, want once", n)
		}
		paused := time.Now()
		strikes.Store("answered GET", func() {
			_ = w.Pause("client-1")
			time.AfterFunc(10*time.Second, func() { _ = w.Resume("client-1") })
		})
		if c.Get(ctx, "k").Val() != "1" || time.Since(paused) < 10*time.Second {
			t.Errorf("a paused client has read a reply after %s", time.Since(paused))
		}
		for _, name := range []string{"published", "delivered"} {
			for range 3 { // it subscribes anew where it was broken
				_, _ = heard.ReceiveTimeout(ctx, 2*time.Second)
			}
			strikes.Store(name, func() { _ = w.Reset(toNode1) })
			_ = c.Publish(ctx, "news", "lost").Err()
			for range 3 {
				if m, _ := heard.ReceiveTimeout(ctx, 2*time.Second); m != nil {
					if got, is := m.(*redis.Message); is {
						t.Errorf("%s: the client has %v from a connection that broke before it could read it", name, got)
					}
				}
			}
			if _, waits := strikes.Load(name); waits {
				t.Errorf("no moment %s", name)
			}
		}
	})
}
