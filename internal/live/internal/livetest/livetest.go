// Package livetest has helpers for the tests of the live world.
package livetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
)

// Limit bounds every wait of a test.
const Limit = 30 * time.Second

// serverRole as an argument makes the test binary a server of miniredis.
const serverRole = "miniredis"

// Main runs the tests of a package, or makes the test binary what its
// environment says: roles are by the variable that is set.
func Main(m *testing.M, roles map[string]func(value string) int) {
	logging.Disable() // clients that lose their servers have much to say
	if len(os.Args) == 3 && os.Args[1] == serverRole {
		os.Exit(serve(os.Args[2]))
	}
	for name, play := range roles {
		if value := os.Getenv(name); value != "" {
			os.Exit(play(value))
		}
	}
	// The thread that starts servers has to live as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/holdfast-go/holdfast/internal/live/processes.startLoop"))
}

func serve(conf string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := miniredis.Serve(ctx, conf, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Miniredis is the command that starts a server of miniredis.
func Miniredis(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	Check(t, err)
	return []string{exe, serverRole}
}

// RequireRedis skips a test where no server is installed, unless the
// environment says that there must be one. It returns the path of the server.
func RequireRedis(t *testing.T) string {
	t.Helper()
	return require(t, "HOLDFAST_REQUIRE_REDIS", "redis-server", "valkey-server")
}

// RequireCompiler skips a test where no C compiler is installed, unless the
// environment says that there must be one.
func RequireCompiler(t *testing.T) {
	t.Helper()
	require(t, "HOLDFAST_REQUIRE_CC", "cc", "gcc", "clang")
}

func require(t *testing.T, required string, programs ...string) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(required) != "" {
		t.Fatalf("%s is set, and none of %v is on the PATH", required, programs)
	}
	t.Skipf("not tried: none of %v is on the PATH", programs)
	return ""
}

// Open opens servers that run in dir. They are closed with the test.
func Open[S interface {
	Err() error
	Close() error
}](t *testing.T, dir string, open func() (S, error)) S {
	t.Helper()
	s, err := open()
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
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("after Close %v is left, %v", left, err)
		}
	})
	return s
}

// Client opens a client of a process for a group, which is closed with the test.
func Client(t *testing.T, s interface {
	Access(client string) (adapter.Access, error)
}, name string, group int) redis.UniversalClient {
	t.Helper()
	a, err := s.Access(name)
	Check(t, err)
	c := a.Client(group)
	t.Cleanup(func() { c.Close() })
	return c
}

// Admin is a client of the harness' own for a server.
func Admin(t *testing.T, s interface {
	Admin(name string) (*redis.Client, error)
}, name string) *redis.Client {
	t.Helper()
	c, err := s.Admin(name)
	Check(t, err)
	return c
}

// Check fails the test at an error other than those that may be.
func Check(t *testing.T, err error, may ...error) {
	t.Helper()
	if err != nil && !slices.ContainsFunc(may, func(m error) bool { return errors.Is(err, m) }) {
		t.Fatal(err)
	}
}

// Eventually waits until f holds.
func Eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !f(); time.Sleep(25 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Limit, what)
		}
	}
}

// SpawnRedis starts a server as a user would have it, which ends with the test.
func SpawnRedis(t *testing.T, conf string, args ...string) (addr string) {
	t.Helper()
	program := RequireRedis(t)
	port := FreePort(t)
	addr = net.JoinHostPort("127.0.0.1", port)
	dir := t.TempDir()
	file := filepath.Join(dir, "redis.conf")
	Check(t, os.WriteFile(file, fmt.Appendf(nil, "bind 127.0.0.1\nport %s\nsave \"\"\n%s\n", port, conf), 0o600))
	var log bytes.Buffer
	cmd := exec.Command(program, append([]string{file}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	Check(t, processes.Spawn(cmd))
	t.Cleanup(func() {
		Check(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the log of %s: %s", addr, &log)
		}
	})
	c := Dial(t, addr, "")
	Eventually(t, "a server answers", func() bool {
		err := c.Ping(t.Context()).Err()
		return err == nil || redis.HasErrorPrefix(err, "NOAUTH")
	})
	return addr
}

// FreePort is a port of 127.0.0.1 without a listener.
func FreePort(t *testing.T) string {
	t.Helper()
	port, err := processes.FreePort()
	Check(t, err)
	return strconv.Itoa(port)
}

// Dial opens a client straight to a server, which is closed with the test.
func Dial(t *testing.T, addr, password string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Password: password, DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}
