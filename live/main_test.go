package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/live/mini"
)

// harnessDir makes the test binary a harness that starts servers there and
// waits to be killed.
const harnessDir = "HOLDFAST_LIVE_TEST_HARNESS"

func TestMain(m *testing.M) {
	logging.Disable() // clients that lose their servers have much to say
	if len(os.Args) == 3 && os.Args[1] == serverRole {
		os.Exit(playServer(os.Args[2]))
	}
	if dir := os.Getenv(harnessDir); dir != "" {
		os.Exit(harness(dir))
	}
	if how := os.Getenv(workerRole); how != "" {
		os.Exit(playClient(how))
	}
	// The thread that starts servers has to live as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/holdfast-go/holdfast/live.startLoop"))
}

// serverRole as an argument makes the test binary a server of miniredis.
const serverRole = "miniredis"

func playServer(conf string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := mini.Serve(ctx, conf, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// onBackends runs a test on servers of every backend.
func onBackends(t *testing.T, o Options, test func(t *testing.T, s *Servers)) {
	t.Parallel()
	exe, err := os.Executable()
	check(t, err)
	for _, b := range []Backend{{}, {Miniredis: []string{exe, serverRole}}} {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			o := o
			o.Backend = b
			test(t, start(t, o))
		})
	}
}

func harness(dir string) int {
	s, err := Start(context.Background(), Options{Groups: 1, Replicas: 1, Sentinel: true, Dir: dir, Detect: time.Second})
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

// requireRedis skips a test where no server is installed, unless the
// environment says that there must be one.
func requireRedis(t *testing.T) {
	t.Helper()
	if err := (Backend{}).Available(); errors.Is(err, ErrUnavailable) {
		skip(t, "HOLDFAST_REQUIRE_REDIS", err)
	}
}

// requireCompiler skips a test where no C compiler is installed, unless the
// environment says that there must be one.
func requireCompiler(t *testing.T) {
	t.Helper()
	if _, err := findCompiler(); err != nil {
		skip(t, "HOLDFAST_REQUIRE_CC", err)
	}
}

// skip skips a test that lacks something, unless a variable says that nothing
// may lack.
func skip(t *testing.T, required string, why error) {
	t.Helper()
	if os.Getenv(required) != "" {
		t.Fatalf("%s is set: %v", required, why)
	}
	t.Skipf("not tried: %v", why)
}

// start starts servers for a test, which are closed with it.
func start(t *testing.T, o Options) *Servers {
	t.Helper()
	return open(t, &o, func() (*Servers, error) { return Start(t.Context(), o) })
}

// open prepares the options for a test and opens servers with them, which are
// closed with the test.
func open(t *testing.T, o *Options, servers func() (*Servers, error)) *Servers {
	t.Helper()
	if !o.Backend.mini() {
		requireRedis(t)
	}
	o.Dir = t.TempDir()
	if o.Detect == 0 {
		o.Detect = time.Second
	}
	s, err := servers()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Err(); err != nil {
			t.Errorf("during the test: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("after Close %v is left, %v", left, err)
		}
	})
	return s
}

// client opens a client of a process for a group, which is closed with the test.
func client(t *testing.T, s *Servers, name string, group int) redis.UniversalClient {
	t.Helper()
	a, err := s.Access(name)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Client(group)
	t.Cleanup(func() { c.Close() })
	return c
}

func admin(t *testing.T, s *Servers, name string) *redis.Client {
	t.Helper()
	c, err := s.Admin(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
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

// check fails the test at an error other than those that may be.
func check(t *testing.T, err error, may ...error) {
	t.Helper()
	if err != nil && !slices.ContainsFunc(may, func(m error) bool { return errors.Is(err, m) }) {
		t.Fatal(err)
	}
}

// eventually waits until f holds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}
