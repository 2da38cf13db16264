package servers

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/processes"
)

func TestAClockJumpEndsLeasesAtOnce(t *testing.T) {
	t.Parallel()
	s := startWithClocks(t, Options{Clients: 1, Groups: 2, Persist: true})
	one, two := client(t, s, "client-1", 1), client(t, s, "client-1", 2)
	ctx := t.Context()
	for _, c := range []redis.UniversalClient{one, two} {
		check(t, c.Set(ctx, "k", "v", time.Minute).Err())
	}
	check(t, s.SetClock("node-1", 40*time.Second, 1))
	if got := one.PTTL(ctx, "k").Val(); got > 20*time.Second || got < 10*time.Second {
		t.Errorf("after a jump of 40s the lease of a minute has %s left", got)
	}
	check(t, s.SetClock("node-1", 30*time.Second, 1)) // on top of it
	if err := one.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the key outlived its lease: %v", err)
	}
	if got := two.PTTL(ctx, "k").Val(); got < 40*time.Second {
		t.Errorf("the clock of another node moved too: %s left", got)
	}
	check(t, s.SetClock("node-1", -70*time.Second, 1))
	check(t, one.Set(ctx, "k", "v", time.Minute).Err())
	check(t, s.SetClock("node-1", -time.Hour, 1))
	if got := one.PTTL(ctx, "k").Val(); got < time.Hour {
		t.Errorf("after a jump back by an hour %s are left", got)
	}
	check(t, s.StopNode("node-1"))
	check(t, s.StartNode("node-1", true))
	shown := admin(t, s, "node-1").Time(ctx).Val()
	if off := time.Until(shown) + time.Hour; off.Abs() > 30*time.Second {
		t.Errorf("a restart set the clock to %s", shown)
	}
	if err := s.SetClock("node-1", 0, 0); err == nil {
		t.Error("a clock was stopped")
	}
}

func TestAFastClockEndsLeasesEarly(t *testing.T) {
	t.Parallel()
	s := startWithClocks(t, Options{Clients: 1, Groups: 1})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Ping(ctx).Err())
	check(t, s.SetClock("node-1", 0, 3))
	begin := time.Now()
	check(t, c.Set(ctx, "k", "v", 3*time.Second).Err())
	eventually(t, "the lease is over", func() bool { return errors.Is(c.Get(ctx, "k").Err(), redis.Nil) })
	if took := time.Since(begin); took < 990*time.Millisecond || took > 2500*time.Millisecond {
		t.Errorf("at three times real speed a lease of 3s took %s", took)
	}
}

// The ground truth has server times only, and must know when they were.
func TestServerTimesAreMappedToTrueTimes(t *testing.T) {
	t.Parallel()
	s := startWithClocks(t, Options{Groups: 1})
	ctx := t.Context()
	for _, set := range []struct {
		jump time.Duration
		rate float64
	}{{0, 1}, {time.Hour, 1}, {-2 * time.Hour, 1.5}, {time.Second, 0.5}, {0, 1}} {
		check(t, s.SetClock("node-1", set.jump, set.rate))
		for range 2 {
			before := time.Now()
			shown, err := admin(t, s, "node-1").Time(ctx).Result()
			after := time.Now()
			check(t, err)
			if at := s.byName["node-1"].TrueTime(shown, after); at.Before(before.Add(-time.Millisecond)) || at.After(after.Add(time.Millisecond)) {
				t.Errorf("after %+v: %s is not within [%s, %s]", set, at, before, after)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

func TestTrueTimeOfAJumpedClock(t *testing.T) {
	t.Parallel()
	c := &clock{spans: []span{{rate: 1}, {base: 1000, offset: 500, rate: 1}, {base: 2000, offset: -500, rate: 2}}}
	for _, x := range []struct{ shown, near, want int64 }{
		{900, 950, 900},
		{1200, 1000, 1000}, // never shown before the jump back: it was skipped
		{1600, 1100, 1100},
		{1600, 2100, 2050}, // shown twice
		{2100, 2300, 2300},
	} {
		if got := c.trueTime(x.shown, x.near); got != x.want {
			t.Errorf("%d near %d was shown at %d, want %d", x.shown, x.near, got, x.want)
		}
	}
}

// An answer of a server right before its clock jumped may be read right after.
func TestTrueTimeOfWhatWasShownBeforeAJump(t *testing.T) {
	t.Parallel()
	jump := int64(time.Second)
	c := &clock{spans: []span{{rate: 1}, {base: jump, offset: int64(time.Hour), rate: 1}}}
	shown := jump - int64(10*time.Millisecond)
	if got := c.trueTime(shown, jump+int64(time.Millisecond)); got != shown {
		t.Errorf("it was shown at %d, want %d", got, shown)
	}
}

// A client's clock moves apart from those of servers and of other clients.
func TestAClientHasAClockOfItsOwn(t *testing.T) {
	t.Parallel()
	livetest.RequireCompiler(t)
	s := start(t, Options{Clients: 2, Groups: 1, ClientClocks: true})
	shown := map[string]func() time.Duration{}
	for _, name := range []string{"client-1", "client-2"} {
		dir, err := s.ClientDir(name)
		check(t, err)
		env, err := s.ClientClock(name, dir)
		check(t, err)
		shown[name] = func() time.Duration {
			cmd := exec.Command("date", "+%s")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.Output()
			check(t, err)
			at, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			check(t, err)
			return time.Until(time.Unix(at, 0))
		}
	}
	check(t, s.SetClock("client-1", -time.Hour, 1))
	if off := shown["client-1"]() + time.Hour; off.Abs() > time.Minute {
		t.Errorf("an hour behind, the client is off by %s", off)
	}
	if off := shown["client-2"](); off.Abs() > time.Minute {
		t.Errorf("the other client is off by %s", off)
	}
	if err := s.SetClock("node-1", time.Hour, 1); err == nil {
		t.Error("a server without a clock of its own was moved")
	}
}

func TestWithoutACompilerClocksAreUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := compileShim(t.TempDir()); !errors.Is(err, processes.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// startWithClocks starts servers whose clocks can be moved, where there is a C
// compiler.
func startWithClocks(t *testing.T, o Options) *Servers {
	t.Helper()
	livetest.RequireCompiler(t)
	o.Clocks = true
	return start(t, o)
}
