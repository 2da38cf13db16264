package workers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/testworker"
)

func jobs(n int) []suite.Job {
	all := make([]suite.Job, n)
	for i := range all {
		all[i] = suite.Job{ID: i, Lock: "reentrant", Seed: uint64(i)}
	}
	return all
}

func TestALockThatEndsItsProcessCostsOneRun(t *testing.T) {
	exe := testworker.Script(t, `case "$line" in *'"id":1,'*) echo "panic: in the lock" >&2; exit 2;; esac
id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/'); echo "{\"id\":$id,\"run\":{\"lock\":\"reentrant\"}}"`)
	got := map[int]suite.Answer{}
	p := Pool{Exe: exe, Workers: 2, Stall: time.Minute}
	must.Succeed(t, p.Play(t.Context(), jobs(6), func(a suite.Answer) { got[a.ID] = a }))
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

// gaveUp plays one job of a kind that does not end.
func gaveUp(t *testing.T, kind string, stall time.Duration) (got suite.Answer) {
	t.Helper()
	exe, err := exec.LookPath("holdfast")
	must.Succeed(t, err)
	all := jobs(1)
	all[0].Kind = kind
	must.Succeed(t, Pool{Exe: exe, Workers: 1, Stall: stall}.Play(t.Context(), all, func(a suite.Answer) { got = a }))
	return got
}

// A busy machine must not end a run that would end by itself, so the worker counts
// its processor time.
func TestALockThatSpinsIsGivenUp(t *testing.T) {
	got := gaveUp(t, spinning, 300*time.Millisecond)
	if got.Stalled != goroutines.Endless || !strings.Contains(got.Run.Failure, "did not end within 300ms") {
		t.Errorf("got %+v", got)
	}
}

func TestALockThatNeverAnswersIsGivenUp(t *testing.T) {
	exe := testworker.Script(t, `exec sleep 600`)
	var got suite.Answer
	p := Pool{Exe: exe, Workers: 1, Stall: 50 * time.Millisecond}
	must.Succeed(t, p.Play(t.Context(), jobs(1), func(a suite.Answer) { got = a }))
	if got.Stalled != goroutines.Endless || !strings.Contains(got.Run.Failure, "made no progress for 1s of real time") {
		t.Errorf("failure: %q", got.Run.Failure)
	}
}

func TestALockThatStandsStillIsGivenUpAtOnce(t *testing.T) {
	got := gaveUp(t, standingStill, time.Hour)
	if got.Stalled != goroutines.Deadlocked || !strings.Contains(got.Run.Failure, "sync.(*Mutex).Lock") || got.Run.Verdicts[checker.Progress].Outcome != checker.Violated {
		t.Errorf("got %+v", got)
	}
}

// A client library that stops virtual time says nothing about the lock.
func TestAMutexOfTheClientProvesNothing(t *testing.T) {
	if v := stalled(suite.Job{}, goroutines.ClientDeadlocked, "stands still").Run.Verdicts[checker.Progress]; v.Outcome != checker.Unknown {
		t.Errorf("got %+v", v)
	}
}

func TestAnInterruptAbandonsWhatIsUnderWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	exe := testworker.Script(t, fmt.Sprintf("touch %s\nexec sleep 600", started))
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
	must.Succeed(t, (Pool{Exe: exe, Workers: 1, Stall: time.Minute}).Play(ctx, jobs(3), func(suite.Answer) { answers++ }))
	if answers != 0 {
		t.Errorf("%d answers after an interrupt", answers)
	}
}

func TestAWorkerThatWritesGarbageIsReplaced(t *testing.T) {
	exe := testworker.Script(t, `echo "no answer"; sleep 600`)
	var got suite.Answer
	must.Succeed(t, (Pool{Exe: exe, Workers: 1, Stall: time.Minute}).Play(t.Context(), jobs(1), func(a suite.Answer) { got = a }))
	if !strings.Contains(got.Run.Failure, "wrote something that is no answer") {
		t.Errorf("failure: %q", got.Run.Failure)
	}
}

// A worker may be killed, for example by the kernel when memory is short. That costs no
// run and adds none, whether the worker was at work or had nothing to do.
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
			p := Pool{Exe: testworker.Script(t, strings.ReplaceAll(script, "MARK", mark)), Workers: 2, Stall: time.Minute}
			if err := p.Play(t.Context(), jobs(6), func(a suite.Answer) {
				got[a.ID]++
				if a.Run.Failure != "" || a.Killed {
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
	var got []suite.Answer
	p := Pool{Exe: testworker.Script(t, `kill -9 0`), Workers: 1, Stall: time.Minute}
	must.Succeed(t, p.Play(t.Context(), jobs(1), func(a suite.Answer) { got = append(got, a) }))
	if len(got) != 1 || !got[0].Killed || got[0].Run.Verdicts[checker.Progress].Outcome != checker.Unknown || !strings.Contains(got[0].Run.Failure, "killed again") {
		t.Errorf("%+v", got)
	}
}
