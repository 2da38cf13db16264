package main

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

func TestCommandsAreToldFromCallsInScripts(t *testing.T) {
	c := commands{map[string]int{}, map[string]int{}}
	for _, line := range []string{
		"+1700000000.000001 [0 127.0.0.1:50000] \"EVALSHA\" \"abc\" \"1\" \"] \\\"get\\\"\"\r\n",
		"+1700000000.000002 [0 lua] \"get\" \"key\"\r\n",
		"+1700000000.000003 [0 lua] \"get\" \"key\"\r\n",
		"+1700000000.000004 [0 127.0.0.1:50000] \"ping\"\r\n",
		"+OK\r\n",
	} {
		c.add(line)
	}
	if !maps.Equal(c.requests, map[string]int{"evalsha": 1, "ping": 1}) || !maps.Equal(c.inScripts, map[string]int{"get": 2}) {
		t.Errorf("%+v", c)
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	// The second round was ten times slower for both.
	if r := ratios([]float64{2, 20, 2}, []float64{1, 10, 1}); r != (spread{2, 2, 2}) {
		t.Errorf("%+v", r)
	}
}

// Everything is measured once, in little.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skip("no redis-server")
	}
	var out strings.Builder
	must.Succeed(t, run(t.Context(), []string{"-quick"}, &out))
	for _, want := range []string{"| bar |", "redsync v4", "redislock v0", "rueidislock v1", "not measured: ", "waiters for one lock"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
