package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// within is the time by which a process may outlive its harness.
const within = 3 * time.Second

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, limit time.Duration, f func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// recording reports whether the run of a scenario is under way: its history has
// the given number of lines.
func recording(dir, scenario string, lines int) bool {
	parts, _ := filepath.Glob(filepath.Join(dir, "histories", scenario, "*.part"))
	for _, p := range parts {
		if text, err := os.ReadFile(p); err == nil && bytes.Count(text, []byte("\n")) >= lines {
			return true
		}
	}
	return false
}

// noneLeft fails the test unless the processes end in time, and all others that
// run below the directory.
func noneLeft(t *testing.T, family []process, dir string, within time.Duration) {
	t.Helper()
	var left []process
	end := time.Now().Add(within)
	for left = survivors(t, family, dir); len(left) > 0 && time.Now().Before(end); left = survivors(t, family, dir) {
		time.Sleep(20 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("after %s there still are %+v", within, left)
	}
}

// empty fails the test if a directory holds anything.
func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("in %s there is %v, %v", dir, left, err)
	}
}

// killed kills a harness. The processes below it must end within a time, and only
// its run directory may stay.
func killed(t *testing.T, h *holdfast, family []process, dir string, within time.Duration) {
	t.Helper()
	family = append(family, descendants(t, h.Process.Pid)...)
	must.Succeed(t, h.Process.Kill())
	noneLeft(t, family, dir, within)
	h.Wait()
	empty(t, h.home)
	empty(t, h.tmp)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(left) != 1 {
		t.Errorf("beside the run directory there is %v", left)
	}
}

// called counts the processes with a name.
func called(all []process, name string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(p process) bool { return !strings.Contains(p.name, name) }))
}

// Only this machine can reach a live run. After SIGKILL in the middle, only its
// directory remains, with a history that can be judged. No process and no other
// file is left. The next run removes the remains of the servers.
func TestLiveRunThatIsKilled(t *testing.T) {
	requireRedis(t)
	runs := t.TempDir()
	dir := filepath.Join(runs, "killed")
	h := command(t, "run", "failover-lost-write", "cluster-failover", "clock-jump", "--world", "live", "--lock", "reentrant", "--out", dir)
	must.Succeed(t, h.Start())
	eventually(t, "Sentinels and a cluster run: "+h.stderr.String(), time.Minute, func() bool {
		return recording(dir, "failover-lost-write", 6) && recording(dir, "cluster-failover", 6)
	})
	family := descendants(t, h.Process.Pid)
	// A primary, its replica and three Sentinels; three and three; and three
	// clients of each.
	if servers, clients := called(family, "redis-server")+called(family, "valkey-server"), called(family, "holdfast"); servers < 5+6 || clients < 3+3 {
		t.Errorf("there are %d servers and %d clients: %+v", servers, clients, family)
	}
	t.Run("loopback", func(t *testing.T) {
		for _, p := range append(family, process{pid: h.Process.Pid, name: "harness"}) {
			all := socketsOf(t, p.pid)
			if len(all) == 0 && strings.HasPrefix(p.dir, dir) && slices.Contains(survivors(t, nil, dir), p) {
				t.Errorf("%s (%d) has no socket: the test sees nothing", p.name, p.pid)
			}
			for _, s := range all {
				if !s.onlyLoopback() {
					t.Errorf("%s (%d) has %s", p.name, p.pid, s)
				}
			}
		}
	})
	killed(t, h, family, dir, within)
	t.Run("judged", func(t *testing.T) {
		parts, _ := filepath.Glob(filepath.Join(dir, "histories", "*", "*.part"))
		if len(parts) < 2 {
			t.Errorf("there are the histories %v", parts)
		}
		for _, part := range parts {
			check := command(t, "check", "--cut-off", part)
			if code := check.code(t); !slices.Contains([]int{exitOK, exitUnexpected, exitUnknown}, code) || !strings.Contains(check.stdout.String(), "live world, cut off at ") {
				t.Errorf("%s: exit %d: %s%s", part, code, &check.stdout, &check.stderr)
			}
		}
	})
	t.Run("cleared up", func(t *testing.T) {
		servers := filepath.Join(dir, "servers")
		if left, err := os.ReadDir(servers); err != nil || len(left) == 0 {
			t.Fatalf("nothing is left of the servers in %s: %v, %v", servers, left, err)
		}
		next := command(t, "run", "contention", "--world", "live", "--lock", "set-px", "--out", filepath.Join(runs, "next"))
		if code := next.code(t); code != exitOK {
			t.Errorf("exit %d: %s", code, &next.stderr)
		}
		for _, gone := range []string{servers, filepath.Join(runs, "next", "servers")} {
			if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", gone, err)
			}
		}
		empty(t, next.home)
		empty(t, next.tmp)
	})
}

// After Ctrl-C, the command ends everything in order, and reports the finished
// runs.
func TestLiveRunThatIsInterrupted(t *testing.T) {
	requireRedis(t)
	dir := filepath.Join(t.TempDir(), "interrupted")
	h := command(t, "run", "contention", "failover-lost-write", "--world", "live", "--lock", "set-px", "--workers", "1", "--out", dir)
	must.Succeed(t, h.Start())
	eventually(t, "the second run is under way: "+h.stderr.String(), time.Minute, func() bool { return recording(dir, "failover-lost-write", 2) })
	family := descendants(t, h.Process.Pid)
	must.Succeed(t, h.Process.Signal(syscall.SIGINT))
	began := time.Now()
	h.Wait()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it takes %s to end", took)
	}
	if code := h.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(h.stderr.String(), "interrupted after 1 runs; the report has what ran") {
		t.Errorf("exit %d: %s", code, &h.stderr)
	}
	noneLeft(t, family, dir, within)
	empty(t, h.home)
	empty(t, h.tmp)
	res, err := suite.Dir(dir).ReadResults()
	if err != nil || len(res.Runs) != 1 || res.Runs[0].Scenario != "contention" {
		t.Errorf("the results are %+v, %v", res.Runs, err)
	}
	if !suite.Exists(filepath.Join(dir, "report.html")) || suite.Exists(filepath.Join(dir, "servers")) || recording(dir, "*", 0) {
		left, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		t.Errorf("the run directory has %v", left)
	}
}
