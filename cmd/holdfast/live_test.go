package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// requireRedis skips a test without an installed server, unless the environment
// requires one.
func requireRedis(t *testing.T) {
	t.Helper()
	for _, name := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
		t.Fatal("neither redis-server nor valkey-server is on the PATH")
	}
	t.Skip("not tried: neither redis-server nor valkey-server is on the PATH")
}

// holdfast is the command as a process, in its own directory and with its own
// temporary files. It ends with the test.
type holdfast struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	home           string // where it is started
	tmp            string
}

func command(t *testing.T, args ...string) *holdfast {
	t.Helper()
	// On a busy machine the command repeats live runs, at last one by one.
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	h := &holdfast{Cmd: exec.CommandContext(ctx, "holdfast", args...), home: t.TempDir(), tmp: t.TempDir()}
	h.Dir, h.Env = h.home, append(os.Environ(), "TMPDIR="+h.tmp, "HOME="+h.home)
	h.Stdout, h.Stderr = &h.stdout, &h.stderr
	h.WaitDelay = 10 * time.Second
	t.Cleanup(cancel)
	return h
}

// code runs it and returns its exit code.
func (h *holdfast) code(t *testing.T) int {
	t.Helper()
	if err := h.Run(); err != nil && h.ProcessState == nil {
		t.Fatal(err)
	}
	return h.ProcessState.ExitCode()
}

// slice is the part of the catalogue that the tests always play on real servers.
// It has every kind of topology, and every fault that strikes servers and
// processes in its own way. Some of its locks keep their promise, and some break
// it. The longest runs come first.
var slice = []struct {
	scenario string
	locks    []string
}{
	{"failover-lost-write", []string{"reentrant", "reentrant-wait"}}, // Sentinels, a primary that is killed, replication that is cut
	{"isolated-primary", []string{"reentrant"}},                      // a primary that lives on among its clients
	{"cluster-failover", []string{"fenced"}},                         // a cluster
	{"renewal-hiccup", []string{"reentrant", "fenced"}},              // a server that comes back with its data; set-px-renew renews for others there, by chance
	{"restart-without-data", []string{"set-px"}},                     // and without them
	{"redlock-clock-jump", []string{"redlock"}},                      // five primaries, a partition, a clock that jumps
	{"member-out-of-reach", []string{"multi"}},                       // three primaries that must all agree
	{"unconfirmed-acquire", []string{"reentrant-wait"}},              // a replica that has to confirm
	{"holder-pause", []string{"set-px-lua", "fenced"}},               // SIGSTOP
	{"holder-crash", []string{"reentrant"}},                          // SIGKILL
	{"cancelled-release", []string{"reentrant"}},                     // a cancelled context
	{"check-then-delete", []string{"set-px-check"}},                  // SIGSTOP between two commands
	{"lost-release-reply", []string{"set-px", "reentrant"}},          // a reply held after the server has executed the request
	{"lost-unlock-message", []string{"reentrant"}},                   // a message that is dropped
	{"slow-subscribe", []string{"reentrant"}},                        // a SUBSCRIBE that is slow
	{"clock-drift", []string{"set-px-lua"}},                          // a clock that runs fast
	{"script-flush", []string{"reentrant"}},                          // a server that forgets its scripts
	{"key-deleted", []string{"setnx-expire"}},                        // a key that an operator deletes
}

// sliceFiles are the scenarios of the slice, as files that name their locks, and
// all the locks.
func sliceFiles(t *testing.T) (files, locks []string, runs int) {
	t.Helper()
	dir := t.TempDir()
	for _, s := range slice {
		if why := notCarried(t, s.scenario, s.locks[0]); why != "" {
			t.Logf("%s is not played: %s", s.scenario, why)
			continue
		}
		file := filepath.Join(dir, s.scenario+".yaml")
		must.Succeed(t, os.WriteFile(file, onlyFor(t, s.scenario, s.locks), 0o644))
		files, locks, runs = append(files, file), append(locks, s.locks...), runs+len(s.locks)
	}
	slices.Sort(locks)
	return files, slices.Compact(locks), runs
}

// notCarried is the reason for which this machine cannot play a scenario on real servers,
// such as a missing C compiler that may be missing.
func notCarried(t *testing.T, scenario, lock string) string {
	t.Helper()
	s, err := scenarios.Find(scenario)
	must.Succeed(t, err)
	l, err := locks.Find(lock)
	must.Succeed(t, err)
	ok, why := liveplay.Carries(s, l, servers.Backend{})
	if ok || os.Getenv("HOLDFAST_REQUIRE_CC") != "" {
		return ""
	}
	return why
}

// onlyFor is the file of a built-in scenario, limited to some locks.
func onlyFor(t *testing.T, scenario string, locks []string) []byte {
	t.Helper()
	source, err := scenarios.Source(scenario)
	must.Succeed(t, err)
	s, err := scenarios.Parse(scenario, source)
	must.Succeed(t, err)
	others := func(l string) bool { return !slices.Contains(locks, l) }
	s.Only, s.Except = locks, nil
	for i := range s.Expect {
		s.Expect[i].Locks = slices.DeleteFunc(s.Expect[i].Locks, others)
	}
	s.Expect = slices.DeleteFunc(s.Expect, func(e scenarios.Expect) bool { return len(e.Locks) == 0 })
	text, err := s.YAML()
	must.Succeed(t, err)
	return text
}

// On real servers the scenarios give the argued verdicts, for locks that keep
// their promise and for locks that do not.
func TestLiveSlice(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	dir := suite.Dir(t.TempDir())
	files, locks, runs := sliceFiles(t)
	h := command(t, append(append([]string{"run"}, files...), "--world", "live", "--lock", strings.Join(locks, ","), "--out", string(dir))...)
	code := h.code(t)
	res, err := dir.ReadResults()
	if err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, &h.stderr)
	}
	if code != exitOK || len(res.Runs) != runs {
		t.Errorf("exit %d after %d runs, want %d after %d: %s", code, len(res.Runs), exitOK, runs, &h.stderr)
	}
	for _, r := range res.Runs {
		t.Logf("%-22s %-15s %5.1f s, %d attempts", r.Scenario, r.Lock, r.Stats.WallMS/1000, r.Attempts)
		if !r.AsExpected || r.World != worldLive {
			t.Errorf("%s with %s in the %s world is not as expected: %s", r.Scenario, r.Lock, r.World, surprises(r))
		}
	}
	t.Run("two holders", func(t *testing.T) { twoHolders(t, dir, res) })
}

// surprises are the unexpected verdicts of a run, or why it has none.
func surprises(r results.Run) string {
	all := []string{r.Failure}
	for p, v := range r.Verdicts {
		if want := r.Expected[p]; v.Outcome != want || (r.ExpectedClass[p] != "" && r.ExpectedClass[p] != v.Class) {
			all = append(all, fmt.Sprintf("%s is %s %s, want %s %s: %s", p, v.Outcome, v.Class, want, r.ExpectedClass[p], v.Reason))
		}
	}
	return strings.Join(all, "\n  ")
}

// twoHolders checks a failover that loses a grant: the two holders, and the cause
// in the Sentinels' own words.
func twoHolders(t *testing.T, dir suite.Dir, all results.Results) {
	all.Runs = slices.DeleteFunc(all.Runs, func(r results.Run) bool { return r.Scenario != "failover-lost-write" || r.Lock != "reentrant" })
	all.Skipped = nil // only the text of a single run has its story
	if len(all.Runs) != 1 || all.Runs[0].Failure != "" {
		t.Fatalf("failover-lost-write was not played with reentrant: %+v", all.Runs)
	}
	if v := all.Runs[0].Verdicts[checker.Exclusion]; v.Outcome != checker.Violated || v.Class != "contract broken" {
		t.Errorf("exclusion is %s %s: %s", v.Outcome, v.Class, v.Reason)
	}
	var told bytes.Buffer
	must.Succeed(t, report.DocumentOf(dir, all).Text(&told))
	unbroken := strings.Join(strings.Fields(told.String()), " ")
	for _, want := range []string{
		`! client-[23] gets the lock (\([^)]*\) )?while client-1 still believes that it holds it: two holders`,
		`sentinel-[123] says?: \+switch-master node-1 127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+`,
		`failover of node-1(, for [\d.]+ m?s)?: node-1 crashed, node-1-replica-1 promoted`,
		`client-[123] lets go: the time of two holders`,
	} {
		if !regexp.MustCompile(want).MatchString(unbroken) {
			t.Errorf("the story does not say %s:\n%s", want, &told)
		}
	}
}
