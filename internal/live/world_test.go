package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// fakeProcess writes down what is done to it.
type fakeProcess struct {
	mu      sync.Mutex
	calls   []string
	op      string
	crashed bool
}

func (p *fakeProcess) call(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, what)
	p.crashed = p.crashed || what == "kill"
	return nil
}

func (p *fakeProcess) Pause() error      { return p.call("pause") }
func (p *fakeProcess) Resume() error     { return p.call("resume") }
func (p *fakeProcess) Kill() error       { return p.call("kill") }
func (p *fakeProcess) Cancel(bool) error { return p.call("cancel") }
func (p *fakeProcess) Op() string        { return p.op }

func (p *fakeProcess) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// openWorld opens a world for a test, closed with it.
func openWorld(t *testing.T, o WorldOptions) *World {
	t.Helper()
	livetest.RequireRedis(t)
	o.Dir, o.Detect = t.TempDir(), time.Second
	return livetest.Open(t, o.Dir, func() (*World, error) { return NewWorld(t.Context(), o) })
}

// startWorld starts a world for a test, closed with it, where every client has
// a process that does nothing.
func startWorld(t *testing.T, o WorldOptions) (*World, *fakeProcess) {
	t.Helper()
	w := openWorld(t, o)
	p := &fakeProcess{op: "acquire"}
	check(t, w.Add("client-1", p))
	return w, p
}

// once opens a client that neither retries nor speaks of itself.
func once(t *testing.T, w *World) *redis.Client {
	t.Helper()
	a, err := w.Access("client-1")
	check(t, err)
	c := redis.NewClient(&redis.Options{Addr: a.Primaries[0], MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestFaultsReachTheProcess(t *testing.T) {
	t.Parallel()
	w, p := startWorld(t, WorldOptions{Options: servers.Options{Clients: 2, Groups: 1}, LockKeys: []string{"lock", "lock:token"}})
	c := once(t, w)
	ctx := t.Context()
	check(t, c.Set(ctx, "lock", "owner", 0).Err())
	check(t, w.DeleteLock("node-1"))
	if err := w.DeleteLock("node-1"); err == nil || !strings.Contains(err.Error(), "holds no lock key") {
		t.Errorf("the lock was deleted twice: %v", err)
	}
	check(t, w.Pause("client-1"))
	check(t, w.Resume("client-1"))
	check(t, w.Cancel("client-1", false))
	check(t, w.Crash("client-1"))
	if want := []string{"pause", "resume", "cancel", "kill"}; !slices.Equal(p.calls, want) {
		t.Errorf("the process saw %v", p.calls)
	}
	if err := w.Pause("client-1"); err == nil || err.Error() != "client-1 has crashed" {
		t.Errorf("a crashed process was paused: %v", err)
	}
	if err := w.Crash("client-1"); err == nil || err.Error() != "client-1 has crashed" {
		t.Errorf("a crashed process crashed: %v", err)
	}
	if err := w.Pause("client-2"); err == nil {
		t.Error("a process that is not there was paused")
	}
	eventually(t, "the connections of a crashed process break", func() bool {
		return w.Connections(faults.Link{From: "client-1", To: "node-1"}) == 0
	})
}

// collected are moments as they came; what is done at one is asked of strike.
type collected struct {
	mu     sync.Mutex
	seen   []faults.Moment
	strike func(faults.Moment)
}

func (c *collected) add(m faults.Moment) {
	c.mu.Lock()
	c.seen = append(c.seen, m)
	strike := c.strike
	c.mu.Unlock()
	if strike != nil {
		strike(m)
	}
}

func (c *collected) at(name, command string, strike func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strike = func(m faults.Moment) {
		if m.Name == name && m.Command == command {
			strike()
		}
	}
}

func (c *collected) words() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.seen {
		all = append(all, m.Name+" "+m.Command)
	}
	c.seen = nil
	return all
}

func TestMomentsOfRequestsAndReplies(t *testing.T) {
	t.Parallel()
	var moments collected
	var w *World
	var from sync.Map
	w, _ = startWorld(t, WorldOptions{
		Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: moments.add,
		Changed: func(node, addr, _ string) bool {
			from.Store(addr, node)
			return admin(t, w, node).Exists(context.Background(), "lock").Val() == 1
		},
	})
	ctx := t.Context()
	c := once(t, w)
	check(t, c.Get(ctx, "none").Err(), redis.Nil)
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "lock", "v", 0)
		p.Ping(ctx)
		p.Del(ctx, "lock")
		return nil
	})
	check(t, err)
	got := moments.words()
	slices.Sort(got) // a request may arrive while the reply before it is on its way
	if want := []string{"answered DEL", "answered GET", "answered SET", "executed DEL", "executed GET", "executed SET", "received DEL", "received GET", "received SET"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	check(t, c.Set(ctx, "lock", "v", 0).Err())
	moments.mu.Lock()
	before, last := moments.seen[len(moments.seen)-2], moments.seen[len(moments.seen)-1]
	moments.mu.Unlock()
	if want := (faults.Moment{Name: faults.Answered, Client: "client-1", Node: "node-1", Op: "acquire", Command: "SET"}); last != want {
		t.Errorf("got %+v", last)
	}
	if want := (faults.Moment{Name: faults.Executed, Client: "client-1", Node: "node-1", Op: "acquire", Command: "SET", Changed: true}); before != want {
		t.Errorf("got %+v", before)
	}
	list := admin(t, w, "node-1").ClientList(ctx).Val()
	from.Range(func(addr, _ any) bool {
		if !strings.Contains(list, "addr="+addr.(string)) {
			t.Errorf("the node knows no connection from %v:\n%s", addr, list)
		}
		return true
	})
	for _, protocol := range []int{2, 3} {
		moments.words()
		a, err := w.Access("client-1")
		check(t, err)
		sub := redis.NewClient(&redis.Options{Addr: a.Primaries[0], Protocol: protocol, DisableIdentity: true})
		s := sub.Subscribe(ctx, "one", "two")
		_, err = s.Receive(ctx)
		check(t, err)
		check(t, c.Publish(ctx, "one", "hello").Err())
		if m, err := s.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
			t.Errorf("RESP%d: %v, %v", protocol, m, err)
		}
		check(t, s.Subscribe(ctx, "three")) // over the connection that has subscribed
		_, err = s.Receive(ctx)
		check(t, err)
		check(t, s.Close())
		check(t, sub.Close())
		eventually(t, "the server knows of no subscriber", func() bool {
			return admin(t, w, "node-1").PubSubNumSub(ctx, "one").Val()["one"] == 0
		})
		got := moments.words()
		slices.Sort(got)
		if want := []string{
			"answered PUBLISH", "answered SUBSCRIBE", "delivered ", "executed PUBLISH", "executed SUBSCRIBE", "published ", "received PUBLISH", "received SUBSCRIBE", "received SUBSCRIBE",
		}; !slices.Equal(got, want) {
			t.Errorf("RESP%d: got %q", protocol, got)
		}
	}
}

// The cause of a certain hazard: the fault strikes between execution and reply.
func TestAFaultActsOnTheVeryReply(t *testing.T) {
	t.Parallel()
	var moments collected
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: moments.add})
	ctx := t.Context()
	l := faults.Link{From: "client-1", To: "node-1"}
	n := func() string { return admin(t, w, "node-1").Get(ctx, "n").Val() }

	t.Run("hole", func(t *testing.T) {
		c := once(t, w)
		check(t, c.Ping(ctx).Err())
		var detach func()
		var err error
		struck := make(chan struct{})
		moments.at(faults.Executed, "INCR", sync.OnceFunc(func() {
			detach, err = w.Attach(l, stream.Downstream, new(toxics.Blackhole))
			close(struck)
		}))
		answer := make(chan error)
		go func() { answer <- c.Incr(ctx, "n").Err() }()
		<-struck
		check(t, err)
		if n() != "1" {
			t.Errorf("at the moment of execution n is %q", n())
		}
		check(t, w.Reset(l))
		if err := <-answer; err == nil {
			t.Error("the reply arrived")
		}
		detach()
	})
	t.Run("partition", func(t *testing.T) {
		c := once(t, w)
		check(t, c.Ping(ctx).Err())
		var heal func()
		var err error
		struck := make(chan struct{})
		moments.at(faults.Executed, "INCR", sync.OnceFunc(func() {
			heal, err = faults.Cut(w, []faults.Link{l})
			close(struck)
		}))
		answer := make(chan error, 1)
		go func() { answer <- c.Incr(ctx, "n").Err() }()
		<-struck
		check(t, err)
		select {
		case err := <-answer:
			t.Errorf("the reply crossed a partition: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if n() != "2" {
			t.Errorf("n is %q", n())
		}
		heal()
		check(t, <-answer)
	})
	t.Run("received", func(t *testing.T) {
		c := once(t, w)
		check(t, c.Ping(ctx).Err())
		var before string
		moments.at(faults.Received, "INCR", sync.OnceFunc(func() { before = n() }))
		check(t, c.Incr(ctx, "n").Err())
		if before != "2" || n() != "3" {
			t.Errorf("n was %q when the request was received, and is %q", before, n())
		}
	})
	t.Run("crash", func(t *testing.T) {
		for _, moment := range []string{faults.Received, faults.Executed} {
			c := once(t, w)
			check(t, c.Ping(ctx).Err())
			struck, broken := make(chan error, 1), make(chan struct{})
			moments.at(moment, "INCR", sync.OnceFunc(func() {
				err := w.StopNode("node-1")
				select {
				case <-broken: // at once, though the moment is not over
				case <-time.After(livetest.Limit):
					err = errors.New("the connection stands")
				}
				struck <- errors.Join(err, w.StartNode("node-1", false))
			}))
			if err := c.Incr(ctx, "n").Err(); err == nil {
				t.Errorf("%s: the server replied after its death", moment)
			}
			close(broken)
			check(t, <-struck)
		}
	})
}

// A client that dies after its request was received dies too late to stop it.
func TestARequestThatWasReceivedIsExecuted(t *testing.T) {
	t.Parallel()
	var moments collected
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}, OnMoment: moments.add})
	c := once(t, w)
	check(t, c.Ping(t.Context()).Err())
	moments.at(faults.Received, "INCR", func() { check(t, w.Crash("client-1")) })
	if err := c.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("the reply arrived over a broken connection")
	}
	eventually(t, "the request is executed", func() bool { return admin(t, w, "node-1").Get(t.Context(), "n").Val() == "1" })
	eventually(t, "its end is announced", func() bool { return slices.Contains(moments.words(), "executed INCR") })
}

// A client in a partition must not learn from a Sentinel on the other side of
// a primary that it cannot reach.
func TestAClientInAPartitionDoesNotReachSentinels(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t, WorldOptions{Options: servers.Options{Clients: 2, Groups: 1, Replicas: 1, Sentinel: true}})
	ask := func(client string) error {
		a, err := w.Access(client)
		check(t, err)
		c := redis.NewSentinelClient(&redis.Options{Addr: a.Sentinels[0], MaxRetries: -1, ReadTimeout: 300 * time.Millisecond, DisableIdentity: true})
		defer c.Close()
		return c.GetMasterAddrByName(t.Context(), a.Masters[0]).Err()
	}
	check(t, ask("client-1"))
	replies, err := w.Attach(faults.Link{From: "client-1", To: "node-1"}, stream.Downstream, new(toxics.Blackhole))
	check(t, err)
	check(t, ask("client-1")) // its requests arrive: it is in no partition
	replies()
	heal, err := faults.Cut(w, []faults.Link{{From: "client-1", To: "node-1"}})
	check(t, err)
	healOther, err := faults.Cut(w, []faults.Link{{From: "client-1", To: "node-1-replica-1"}})
	check(t, err)
	for range 2 {
		if ask("client-1") == nil {
			t.Error("the client reaches a Sentinel from behind the partition")
		}
		check(t, ask("client-2"))
		heal() // one of the two cuts
	}
	healOther()
	check(t, ask("client-1"))
}
