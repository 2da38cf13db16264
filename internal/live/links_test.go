package live

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/servers"
)

var toNode1 = faults.Link{From: "client-1", To: "node-1"}

// impatient is a client that gives a connection up soon, and does not ask again.
func impatient(t *testing.T, w *World) *redis.Client {
	t.Helper()
	a, err := w.Access("client-1")
	check(t, err)
	c := redis.NewClient(&redis.Options{
		Addr: a.Primaries[0], MaxRetries: -1, DialerRetries: 1, ReadTimeout: 300 * time.Millisecond, DisableIdentity: true,
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// A withheld request reaches a real server when it is released, after the later requests
// of its client. That is so although the client has closed the connection.
func TestAHeldRequestOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: func(faults.Moment) {}})
	c, ctx := impatient(t, w), t.Context()
	release, err := w.WithholdRequest(toNode1)
	check(t, err)
	if err := c.RPush(ctx, "k", "first").Err(); err == nil {
		t.Error("a request that is held was answered")
	}
	check(t, c.RPush(ctx, "k", "second").Err())
	release()
	eventually(t, "the request is executed", func() bool { return c.LLen(ctx, "k").Val() == 2 })
	if got := c.LRange(ctx, "k", 0, -1).Val(); got[0] != "second" || got[1] != "first" {
		t.Errorf("executed %v, want second, then first", got)
	}
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}})
	old, late, ctx := impatient(t, w), impatient(t, w), t.Context()
	check(t, old.Ping(ctx).Err())
	allow, err := w.Refuse(toNode1)
	check(t, err)
	if err := late.Ping(ctx).Err(); err == nil {
		t.Error("a connection was opened")
	}
	check(t, old.Ping(ctx).Err())
	allow()
	check(t, late.Ping(ctx).Err())
}

// A real server has none of the connections that are half open without it. The client
// does not learn of that until it sends something. New connections work.
func TestAConnectionWhoseServerIsGone(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]func(faults.Moment){"a link": nil, "a link that tells of requests": func(faults.Moment) {}} {
		w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: moment})
		c, ctx := impatient(t, w), t.Context()
		heard := c.Subscribe(ctx, "news")
		defer heard.Close()
		_, err := heard.Receive(ctx)
		check(t, err)
		check(t, c.Ping(ctx).Err())
		tell, err := w.HalfOpen(toNode1, "node-1")
		check(t, err)
		begin := time.Now()
		if err := c.Incr(ctx, "k").Err(); err == nil || time.Since(begin) < 300*time.Millisecond {
			t.Errorf("%s: the client knew after %s: %v", name, time.Since(begin), err)
		}
		eventually(t, "the server has lost its subscriber", func() bool { n, err := c.Publish(ctx, "news", "lost").Result(); return err == nil && n == 0 })
		if _, err := heard.ReceiveTimeout(ctx, 300*time.Millisecond); !isTimeout(err) {
			t.Errorf("%s: the subscriber knew: %v", name, err)
		}
		tell()
		if _, err := heard.ReceiveTimeout(ctx, 30*time.Second); err == nil || isTimeout(err) {
			t.Errorf("%s: the subscriber was not told: %v", name, err)
		}
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Errorf("%s: the server executed a request from a connection that it has not", name)
		}
		check(t, heard.Close())
		eventually(t, "what was half open is gone", func() bool { return w.Connections(toNode1) == 1 })
	}
}

// A real server keeps the subscription of a client that is gone, until a message says so.
func TestAConnectionWhoseClientIsGone(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]func(faults.Moment){"a link": nil, "a link that tells of requests": func(faults.Moment) {}} {
		w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: moment})
		c, ctx := impatient(t, w), t.Context()
		heard := c.Subscribe(ctx, "news")
		defer heard.Close()
		_, err := heard.Receive(ctx)
		check(t, err)
		tell, err := w.HalfOpen(toNode1, "client-1")
		check(t, err)
		if _, err := heard.ReceiveTimeout(ctx, 30*time.Second); err == nil || isTimeout(err) {
			t.Errorf("%s: the client does not know: %v", name, err)
		}
		check(t, heard.Close()) // it has subscribed anew
		eventually(t, "the connections of the client are gone", func() bool { return w.Connections(toNode1) <= 1 })
		n, err := c.Publish(ctx, "news", "lost").Result()
		if check(t, err); n != 1 {
			t.Errorf("%s: the server has %d subscribers, want the one that is gone", name, n)
		}
		tell()
		eventually(t, "the server is told", func() bool { return c.Publish(ctx, "news", "lost").Val() == 0 })
	}
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// A fault strikes and ends at moments of a real server: the request of the moment
// is held until another one has been answered.
func TestAFaultEndsAtAMoment(t *testing.T) {
	t.Parallel()
	var schedule *faults.Schedule
	w, _ := startWorld(t, WorldOptions{
		Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: func(m faults.Moment) { schedule.Moment(m) },
	})
	var err error
	schedule, err = faults.NewSchedule([]faults.Spec{{
		Fault: "hold-request", Target: faults.Names{"client-1"},
		On:    &faults.Anchor{Moment: faults.Received, Command: "RPUSH", Nth: 2},
		Until: &faults.Anchor{Moment: faults.Answered, Command: "RPUSH"},
	}, {
		Fault: "reset", Target: faults.Names{"client-1"},
		On: &faults.Anchor{Moment: faults.Delivered},
	}}, faults.Topology{World: "live", Clients: 1, Groups: 1}, 1)
	check(t, err)
	schedule.Start(t.Context(), w, func() func(history.FaultEvent) { return func(history.FaultEvent) {} })
	defer schedule.Stop()
	c, ctx := impatient(t, w), t.Context()
	check(t, c.RPush(ctx, "k", "first").Err())
	if err := c.RPush(ctx, "k", "second").Err(); err == nil {
		t.Error("the request of the moment was answered")
	}
	check(t, c.RPush(ctx, "k", "third").Err())
	eventually(t, "the request is executed", func() bool { return c.LLen(ctx, "k").Val() == 3 })
	if got := c.LRange(ctx, "k", 0, -1).Val(); !slices.Equal(got, []string{"first", "third", "second"}) {
		t.Errorf("executed %v", got)
	}
	heard := c.Subscribe(ctx, "news")
	defer heard.Close()
	_, err = heard.Receive(ctx)
	check(t, err)
	_ = c.Publish(ctx, "news", "lost").Err() // the reset breaks this connection too
	if m, err := heard.ReceiveTimeout(ctx, 30*time.Second); err == nil || isTimeout(err) {
		t.Errorf("the client has %v from a connection that broke before it could read it: %v", m, err)
	}
}
