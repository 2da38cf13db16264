package lock_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// redisServer starts a real server with these settings. It is for what the server of the
// other tests does not have: rights, a limit of memory, slots that migrate.
func redisServer(t *testing.T, settings ...string) (addr string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("HOLDFAST_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server")
	} else if err != nil {
		t.Fatal(err)
	}
	for range 10 { // another process may take the port
		port := freePort(t)
		args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, settings...)
		cmd := exec.Command(binary, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		addr := net.JoinHostPort("127.0.0.1", port)
		if answers(t, addr, cmd.Process.Pid, ended) {
			t.Cleanup(func() { cmd.Process.Kill(); <-ended })
			return addr
		}
		cmd.Process.Kill()
	}
	t.Fatal("redis-server does not start")
	return ""
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if port > 55000 { // the port of a cluster's bus is 10,000 above
		return freePort(t)
	}
	return strconv.Itoa(port)
}

// answers waits until a server answers, and reports whether it is the process. A test
// beside this one may have been given the same port.
func answers(t *testing.T, addr string, process int, ended <-chan struct{}) bool {
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer rdb.Close()
	for {
		if about, err := rdb.Info(t.Context(), "server").Result(); err == nil {
			return strings.Contains(about, "process_id:"+strconv.Itoa(process)+"\r")
		}
		select {
		case <-ended:
			return false
		case <-t.Context().Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// realClient is a lock client of a server, closed with the test.
func realClient(t *testing.T, rdb redis.UniversalClient, opts ...lock.Option) *lock.Client {
	t.Helper()
	c, err := lock.New(rdb, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); rdb.Close() })
	return c
}

// user makes a user with these rights, and returns a Redis client of that user.
func user(t *testing.T, admin *redis.Client, name string, rules ...string) *redis.Client {
	t.Helper()
	setUser(t, admin, name, append([]string{"reset", "on", "nopass"}, rules...)...)
	return redis.NewClient(&redis.Options{Addr: admin.Options().Addr, Username: name, Password: "any"})
}

func setUser(t *testing.T, admin *redis.Client, name string, rules ...string) {
	t.Helper()
	args := []any{"acl", "setuser", name}
	for _, r := range rules {
		args = append(args, r)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// namesTheRight fails the test if an error hides that the user lacks a right. Redis 7.0 words
// it without NOPERM within a script.
func namesTheRight(t *testing.T, what string, err error) {
	t.Helper()
	if text := err.Error(); !strings.Contains(text, "NOPERM") && !strings.Contains(text, "can't run this command") {
		t.Errorf("%s: %v, want an error that has the server's reason", what, err)
	}
}

// leftFor returns the keys that no lease ends.
func leftFor(ctx context.Context, t *testing.T, admin *redis.Client) (forever []string) {
	t.Helper()
	for _, key := range must[[]string](t)(admin.Keys(ctx, "*").Result()) {
		if must[time.Duration](t)(admin.PTTL(ctx, key).Result()) == -1 {
			forever = append(forever, key)
		}
	}
	return forever
}
