package servers

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

func TestOneClientAloneIsCutOffAndComesBack(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 2, Groups: 1})
	one, two := client(t, s, "client-1", 1), client(t, s, "client-2", 1)
	ctx := t.Context()
	check(t, one.Set(ctx, "k", "before", 0).Err())
	heal, err := s.Cut("client-1", "node-1")
	check(t, err)
	answer := make(chan error)
	go func() { answer <- one.Set(ctx, "k", "held", 0).Err() }()
	if err := two.Get(ctx, "k").Err(); err != nil {
		t.Errorf("client-2 is cut off as well: %v", err)
	}
	select {
	case err := <-answer:
		t.Errorf("client-1 gets an answer over a cut link: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if got := two.Get(ctx, "k").Val(); got != "before" {
		t.Errorf("the server has %q over a cut link", got)
	}
	heal()
	if err := <-answer; err != nil {
		t.Errorf("what was held does not arrive: %v", err)
	}
	if got := two.Get(ctx, "k").Val(); got != "held" {
		t.Errorf("the server has %q after the link has healed", got)
	}
}

func TestAToxicOfAFaultWorksOnAProxy(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Ping(ctx).Err())
	l := faults.Link{From: "client-1", To: "node-1"}
	detach, err := s.Attach(l, stream.Upstream, &toxics.Delay{By: 800 * time.Millisecond})
	check(t, err)
	// A second toxic behind the first must not free what that one holds.
	detachSecond, err := s.Attach(l, stream.Upstream, &toxics.Delay{By: 700 * time.Millisecond})
	check(t, err)
	begin := time.Now()
	check(t, c.Ping(ctx).Err())
	if took := time.Since(begin); took < 1500*time.Millisecond {
		t.Errorf("a request that is delayed by 1.5s took %s", took)
	}
	detach()
	detachSecond()
	begin = time.Now()
	check(t, c.Ping(ctx).Err())
	if took := time.Since(begin); took >= 700*time.Millisecond { // as long as the shorter of the two
		t.Errorf("with the toxics off a request took %s", took)
	}
	if _, err := s.Attach(faults.Link{From: "client-9", To: "node-1"}, stream.Upstream, &toxics.Delay{}); err == nil {
		t.Error("a toxic was attached to a link that does not exist")
	}
}

func TestALostReplyWasExecuted(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1})
	a, err := s.Access("client-1")
	check(t, err)
	c := redis.NewClient(&redis.Options{Addr: a.Primaries[0], MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	ctx := t.Context()
	check(t, c.Ping(ctx).Err())
	l := faults.Link{From: "client-1", To: "node-1"}
	detach, err := s.Attach(l, stream.Downstream, new(toxics.Blackhole))
	check(t, err)
	answer := make(chan error)
	go func() { answer <- c.Incr(ctx, "n").Err() }()
	eventually(t, "the request is executed", func() bool { return admin(t, s, "node-1").Get(ctx, "n").Val() == "1" })
	check(t, s.Reset(l))
	if err := <-answer; err == nil {
		t.Error("the reply arrived through a hole")
	}
	detach()
	if got, err := c.Incr(ctx, "n").Result(); err != nil || got != 2 {
		t.Errorf("after the reset: %d, %v", got, err)
	}
	eventually(t, "of two connections, the one that was broken is gone", func() bool { return s.Connections(l) == 1 })
}

func TestAServerStopsAndStartsWithOrWithoutItsData(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 2, Persist: true})
	first, second := client(t, s, "client-1", 1), client(t, s, "client-1", 2)
	ctx := t.Context()
	check(t, first.Set(ctx, "k", "v", 0).Err())
	if err := second.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the second of two independent primaries answers %v for a key of the first", err)
	}
	sha := first.ScriptLoad(ctx, "return 1").Val()
	check(t, s.FlushScripts("node-1"))
	if known, err := first.ScriptExists(ctx, sha).Result(); err != nil || known[0] {
		t.Errorf("a script that was flushed is known: %v, %v", known, err)
	}
	check(t, s.StopNode("node-1"))
	if err := first.Get(ctx, "k").Err(); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.StopNode("node-1"); err == nil {
		t.Error("a server that is down was killed")
	}
	check(t, s.StartNode("node-1", true))
	if got, err := first.Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Errorf("after a restart with data: %q, %v", got, err)
	}
	check(t, s.ShutDown("node-1"))
	check(t, s.StartNode("node-1", false))
	if err := first.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("after a restart without data: %v", err)
	}
	check(t, first.Set(ctx, "k", "v", 0).Err())
	check(t, s.DeleteKeys("node-1", "k"))
	if err := s.DeleteKeys("node-1", "k"); err == nil {
		t.Error("a key that is not there was deleted")
	}
}

func TestASuspendedServerAnswersLater(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Ping(ctx).Err())
	check(t, s.Suspend("node-1"))
	answer := make(chan error)
	go func() { answer <- c.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		t.Errorf("a suspended server answers: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	check(t, s.Continue("node-1"))
	check(t, <-answer)
}

func TestAServerThatDiesByItselfIsReported(t *testing.T) {
	t.Parallel()
	livetest.RequireRedis(t)
	s, err := Start(t.Context(), Options{Groups: 1, Dir: t.TempDir()}, nil)
	check(t, err)
	defer s.Close()
	check(t, s.byName["node-1"].proc.cmd.Process.Kill())
	eventually(t, "the death is noticed", func() bool { return s.Err() != nil })
	var wrong *ServerError
	if !errors.As(s.Err(), &wrong) || wrong.Server != "node-1" || !strings.Contains(wrong.Log, "Ready to accept connections") {
		t.Errorf("the error does not name the server and the end of its log: %v", s.Err())
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Groups: 1, Persist: true})
	check(t, s.StopNode("node-1"))
	check(t, os.WriteFile(s.byName["node-1"].dir+"/redis.conf", []byte("bind 127.0.0.1\nno-such-thing yes\n"), 0o600))
	err := s.StartNode("node-1", true)
	var wrong *ServerError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "no-such-thing") {
		t.Errorf("the error does not tell what the server said: %v", err)
	}
}

func TestAStrangerIsNotLetThroughADoor(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Groups: 1})
	c := redis.NewClient(&redis.Options{Addr: s.byName["node-1"].door.Addr().String(), MaxRetries: -1, DisableIdentity: true})
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a door let somebody in that is none of the servers")
	}
}
