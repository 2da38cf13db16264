package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// server is a redis-server of the benchmark's own: on loopback, without
// persistence, in a directory that goes with it.
type server struct {
	addr    string
	version string
	cmd     *exec.Cmd
	dir     string
	control *redis.Client // for what is not measured
}

// startServer starts a server and returns when it answers. It dies
// with stop, and on Linux with this process.
func startServer(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-locks-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for redis-server: %w", err)
	}
	for range 5 { // somebody else may take the port in between
		var s *server
		if s, err = tryServer(ctx, dir); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("start redis-server: %w", err), os.RemoveAll(dir))
}

func tryServer(ctx context.Context, dir string) (*server, error) {
	port, err := processes.FreePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprint("127.0.0.1:", port)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port),
		"--save", "", "--appendonly", "no", "--dir", dir, "--loglevel", "warning")
	tie(cmd)
	if err := start(cmd); err != nil {
		return nil, err
	}
	s := &server{addr: addr, cmd: cmd, dir: dir, control: redis.NewClient(&redis.Options{Addr: addr})}
	deadline := time.Now().Add(5 * time.Second)
	for {
		info, err := s.control.Info(ctx, "server").Result()
		if err == nil && infoField(info, "process_id") == strconv.Itoa(cmd.Process.Pid) {
			s.version = infoField(info, "redis_version")
			return s, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			s.kill()
			return nil, fmt.Errorf("no answer from %s: %w", addr, errors.Join(err, ctx.Err()))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (s *server) kill() {
	s.control.Close()
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()         // "killed" is no news
}

func (s *server) stop() error {
	s.kill()
	return os.RemoveAll(s.dir)
}

// flush empties the server between measurements. The scripts stay loaded.
func (s *server) flush(ctx context.Context) error { return s.control.FlushAll(ctx).Err() }

// commands are the requests that reached the server, and the calls that scripts made in
// them, by name.
type commands struct {
	requests, inScripts map[string]int
}

// count runs f and returns what reached the server meanwhile, as MONITOR tells
// it. That slows the server down, so nothing is timed in f.
func (s *server) count(ctx context.Context, f func() error) (commands, error) {
	c := commands{map[string]int{}, map[string]int{}}
	conn, err := net.DialTimeout("tcp", s.addr, 5*time.Second)
	if err != nil {
		return c, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	in := bufio.NewReaderSize(conn, 1<<20)
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		return c, err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return c, fmt.Errorf("monitor the server: %w", err)
	}
	const end = "bench-locks-end"
	read := make(chan error, 1)
	go func() {
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.Contains(line, end) {
				read <- err
				return
			}
			c.add(line)
		}
	}()
	if err := f(); err != nil {
		return c, err
	}
	if err := s.control.Echo(ctx, end).Err(); err != nil {
		return c, err
	}
	return c, <-read
}

// add takes a line as `+1700000000.000000 [0 127.0.0.1:50000] "get" "key"`;
// for a call in a script the address is "lua".
func (c commands) add(line string) {
	_, rest, _ := strings.Cut(line, " [")
	from, rest, ok := strings.Cut(rest, "] \"")
	name, _, ok2 := strings.Cut(rest, "\"")
	if !ok || !ok2 {
		return
	}
	into := c.requests
	if strings.HasSuffix(from, " lua") {
		into = c.inScripts
	}
	into[strings.ToLower(name)]++
}

// scriptCalls returns how many scripts the server has run, and the time that
// it took for them, since it was started.
func (s *server) scriptCalls(ctx context.Context) (calls int, took time.Duration, err error) {
	info, err := s.control.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, 0, err
	}
	for _, name := range []string{"evalsha", "eval"} {
		for _, f := range strings.Split(infoField(info, "cmdstat_"+name), ",") {
			key, val, _ := strings.Cut(f, "=")
			n, err := strconv.Atoi(val)
			if key == "calls" && err == nil {
				calls += n
			}
			if key == "usec" && err == nil {
				took += time.Duration(n) * time.Microsecond
			}
		}
	}
	return calls, took, nil
}

// scriptCallsIn returns how many scripts the server runs in the given span, and the time
// that it takes for them.
func (s *server) scriptCallsIn(ctx context.Context, span time.Duration) (calls int, took time.Duration, err error) {
	before, tookBefore, err := s.scriptCalls(ctx)
	if err != nil {
		return 0, 0, err
	}
	pause(ctx, span)
	calls, took, err = s.scriptCalls(ctx)
	return calls - before, took - tookBefore, err
}

// messages returns how often the server has read from a client. It reads a pipeline of
// short requests in one piece.
func (s *server) messages(ctx context.Context) (int, error) {
	info, err := s.control.Info(ctx, "stats").Result()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(infoField(info, "total_reads_processed"))
	if err != nil {
		return 0, fmt.Errorf("read INFO of redis-server: %w", err)
	}
	return n, nil
}
