package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// onesOwn starts a redis-server as a user would, with a password and some keys,
// and returns its address.
func onesOwn(t *testing.T, password string) (*redis.Client, string) {
	t.Helper()
	requireRedis(t)
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		binary = "valkey-server"
	}
	port, err := processes.FreePort()
	must.Succeed(t, err)
	addr := fmt.Sprint("127.0.0.1:", port)
	server := exec.Command(binary, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--requirepass", password)
	must.Succeed(t, server.Start())
	c := redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: 500, MaxRetryBackoff: 20 * time.Millisecond})
	t.Cleanup(func() {
		c.Close()
		server.Process.Kill()
		server.Wait()
	})
	must.Succeed(t, c.Set(t.Context(), "stock", "mine", 0).Err())
	return c, addr
}

// On a user's server, scenarios that need no control of it have the same verdicts
// as anywhere else. The command skips the rest with a reason. It leaves nothing
// on the server, and never prints the password.
func TestRunsOnAServerOfOnesOwn(t *testing.T) {
	c, addr := onesOwn(t, "s3cret")
	dir := suite.Dir(t.TempDir())
	h := command(t, "run", "holder-pause", "lost-unlock-message", "clock-jump", "--lock", "set-px-lua,fenced,multi",
		"--world", "live", "--workers", "1", "--redis", "redis://:s3cret@"+addr, "--out", string(dir))
	code := h.code(t)
	res, err := dir.ReadResults()
	if err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, &h.stdout, &h.stderr)
	}
	for _, r := range res.Runs {
		if !r.AsExpected || r.Backend != "own" {
			t.Errorf("%s with %s on %s is not as expected: %s", r.Scenario, r.Lock, r.Backend, surprises(r))
		}
	}
	if len(res.Runs) != 3 {
		t.Errorf("%d runs", len(res.Runs))
	}
	for _, s := range res.Skipped {
		want := "not run: clock-jump needs control of the servers"
		switch {
		case s.Scenario == "lost-unlock-message":
			continue // it is for fenced alone
		case s.Lock == "multi":
			want = "not run: it needs 3 independent primaries, and --redis gives 1"
		}
		if !strings.HasPrefix(s.Reason, want) {
			t.Errorf("%s with %s: %s", s.Scenario, s.Lock, s.Reason)
		}
	}
	if !strings.Contains(res.Command, "--redis redis://***@"+addr) {
		t.Errorf("the command is told as %s", res.Command)
	}
	if out, err := exec.Command("grep", "-rl", "s3cret", string(dir)).Output(); err == nil {
		t.Errorf("the password is in %s", out)
	}
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || !slices.Equal(keys, []string{"stock"}) || c.Get(t.Context(), "stock").Val() != "mine" {
		t.Errorf("the server holds %q, %v", keys, err)
	}
}
