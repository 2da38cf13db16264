package servers

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
)

// harnessDir makes the test binary a harness that starts servers there and
// waits to be killed.
const harnessDir = "HOLDFAST_LIVE_TEST_HARNESS"

func TestMain(m *testing.M) {
	livetest.Main(m, map[string]func(string) int{harnessDir: harness})
}

func harness(dir string) int {
	s, err := Start(context.Background(), Options{Groups: 1, Replicas: 1, Sentinel: true, Dir: dir, Detect: time.Second}, nil)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	for _, name := range s.Names() {
		fmt.Println("pid", s.byName[name].proc.cmd.Process.Pid)
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
	return 0
}

// start starts servers for a test, which are closed with it.
func start(t *testing.T, o Options) *Servers {
	t.Helper()
	if !o.Backend.mini() {
		livetest.RequireRedis(t)
	}
	o.Dir, o.Detect = t.TempDir(), cmp.Or(o.Detect, time.Second)
	return livetest.Open(t, o.Dir, func() (*Servers, error) { return Start(t.Context(), o, nil) })
}

// replicated waits until a replica has everything that was written so far.
func replicated(t *testing.T, s *Servers, primary, replica string) {
	t.Helper()
	offset := func(server, field string) int {
		info, err := s.byName[server].info(t.Context(), "replication")
		check(t, err)
		n, err := strconv.Atoi(info[field])
		check(t, err)
		return n
	}
	want := offset(primary, "master_repl_offset")
	eventually(t, replica+" has what was written", func() bool { return offset(replica, "slave_repl_offset") >= want })
}

func client(t *testing.T, s *Servers, name string, group int) redis.UniversalClient {
	t.Helper()
	return livetest.Client(t, s, name, group)
}

func admin(t *testing.T, s *Servers, name string) *redis.Client {
	t.Helper()
	return livetest.Admin(t, s, name)
}

var (
	check      = livetest.Check
	eventually = livetest.Eventually
)
