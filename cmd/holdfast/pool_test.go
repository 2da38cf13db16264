package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
)

// fakeWorker is a worker process that does what a shell script says with every
// job it reads into $line.
func fakeWorker(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	text := "#!/bin/sh\nwhile read -r line; do\n" + script + "\ndone\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func jobs(n int) []job {
	all := make([]job, n)
	for i := range all {
		all[i] = job{ID: i, Lock: "reentrant", Seed: uint64(i)}
	}
	return all
}

func TestALockThatEndsItsProcessCostsOneRun(t *testing.T) {
	exe := fakeWorker(t, `case "$line" in *'"id":1,'*) echo "panic: in the lock" >&2; exit 2;; esac
id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/'); echo "{\"id\":$id,\"run\":{\"lock\":\"reentrant\"}}"`)
	got := map[int]answer{}
	p := pool{exe: exe, workers: 2, stall: time.Minute}
	if err := p.play(t.Context(), jobs(6), func(a answer) { got[a.ID] = a }); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		a, ok := got[i]
		if !ok {
			t.Fatalf("no answer for job %d", i)
		}
		if failed := a.Run.Failure != ""; failed != (i == 1) {
			t.Errorf("job %d: failure %q", i, a.Run.Failure)
		}
	}
	bad := got[1].Run
	for _, want := range []string{"exit status 2", "panic: in the lock"} {
		if !strings.Contains(bad.Failure, want) {
			t.Errorf("failure %q does not say %q", bad.Failure, want)
		}
	}
	if v := bad.Verdicts[checker.Progress]; v.Outcome != checker.Violated || bad.AsExpected {
		t.Errorf("progress of the run that died: %+v, as expected: %v", v, bad.AsExpected)
	}
}

func TestALockThatSpinsIsGivenUp(t *testing.T) {
	exe := fakeWorker(t, `exec sleep 600`)
	var got answer
	p := pool{exe: exe, workers: 1, stall: 50 * time.Millisecond}
	if err := p.play(t.Context(), jobs(1), func(a answer) { got = a }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Run.Failure, "made no progress for 50ms of real time") {
		t.Errorf("failure: %q", got.Run.Failure)
	}
}

func TestALockThatStandsStillIsGivenUpAtOnce(t *testing.T) {
	var got answer
	p := pool{exe: fakeWorker(t, "exec standingstill"), workers: 1, stall: time.Hour}
	if err := p.play(t.Context(), jobs(1), func(a answer) { got = a }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deadlocked on a mutex", "sync.(*Mutex).Lock"} {
		if !strings.Contains(got.Run.Failure, want) {
			t.Errorf("failure %q does not say %q", got.Run.Failure, want)
		}
	}
}

func TestAnInterruptAbandonsWhatIsUnderWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	exe := fakeWorker(t, fmt.Sprintf("touch %s\nexec sleep 600", started))
	go func() {
		for { // the worker has the job once the file is there
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	answers := 0
	if err := (pool{exe: exe, workers: 1, stall: time.Minute}).play(ctx, jobs(3), func(answer) { answers++ }); err != nil {
		t.Fatal(err)
	}
	if answers != 0 {
		t.Errorf("%d answers after an interrupt", answers)
	}
}

func TestARunThatIsNotDeterministicIsADefect(t *testing.T) {
	t.Cleanup(func() { testOnlyWorker = "" })
	testOnlyWorker = fakeWorker(t, `n=$((n+1)); id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/')
echo "{\"id\":$id,\"run\":{\"lock\":\"reentrant\",\"as_expected\":true,\"history_sha256\":\"$n-$$\"}}"`)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"run", "contention", "--lock", "reentrant", "--out", t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	if code != exitDefect || !strings.Contains(stderr.String(), "not deterministic: contention with reentrant, seed 1") {
		t.Errorf("exit %d, stderr:\n%s", code, &stderr)
	}
}

func TestAWorkerThatWritesGarbageIsReplaced(t *testing.T) {
	exe := fakeWorker(t, `echo "no answer"; sleep 600`)
	var got answer
	if err := (pool{exe: exe, workers: 1, stall: time.Minute}).play(t.Context(), jobs(1), func(a answer) { got = a }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Run.Failure, "wrote something that is no answer") {
		t.Errorf("failure: %q", got.Run.Failure)
	}
}

// Whoever kills a worker, such as the kernel when memory is short, costs no run
// and adds none, whether the worker was at work or had nothing to do.
func TestAWorkerThatIsKilledCostsNothing(t *testing.T) {
	reply := `id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/'); echo "{\"id\":$id,\"run\":{\"lock\":\"reentrant\"}}"; `
	for name, script := range map[string]string{
		"at work":            `case "$line" in *'"id":1,'*) mkdir MARK 2>/dev/null && kill -9 0;; esac; ` + reply,
		"half an answer":     `case "$line" in *'"id":1,'*) mkdir MARK 2>/dev/null && printf '{"id":1,"ru' && kill -9 0;; esac; ` + reply,
		"with nothing to do": reply + `case "$line" in *'"id":1,'*) mkdir MARK 2>/dev/null && kill -9 0;; esac`,
	} {
		t.Run(name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "killed")
			got := map[int]int{}
			p := pool{exe: fakeWorker(t, strings.ReplaceAll(script, "MARK", mark)), workers: 2, stall: time.Minute}
			if err := p.play(t.Context(), jobs(6), func(a answer) {
				got[a.ID]++
				if a.Run.Failure != "" || a.killed {
					t.Errorf("job %d: failure %q", a.ID, a.Run.Failure)
				}
			}); err != nil {
				t.Fatal(err)
			}
			for i := range 6 {
				if got[i] != 1 {
					t.Errorf("%d answers for job %d", got[i], i)
				}
			}
			if _, err := os.Stat(mark); err != nil {
				t.Errorf("nobody was killed: %v", err)
			}
		})
	}
}

func TestAWorkerThatIsKilledAgainIsNoViolation(t *testing.T) {
	var got []answer
	p := pool{exe: fakeWorker(t, `kill -9 0`), workers: 1, stall: time.Minute}
	if err := p.play(t.Context(), jobs(1), func(a answer) { got = append(got, a) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !got[0].killed || got[0].Run.Verdicts[checker.Progress].Outcome != checker.Unknown || !strings.Contains(got[0].Run.Failure, "killed again") {
		t.Errorf("%+v", got)
	}
}
