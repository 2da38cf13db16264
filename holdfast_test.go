package holdfast_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// A user of the package runs, reads a history, judges it, and replays.
func TestRunJudgeReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	res, err := holdfast.Run(t.Context(), holdfast.Options{Scenarios: []string{"holder-pause"}, Locks: []string{"reentrant", "set-px"}, Dir: dir})
	must.Succeed(t, err)
	if len(res.Runs) != 2 || res.Interrupted || res.Summary.AsExpected != 2 {
		t.Fatalf("summary %+v, interrupted %t", res.Summary, res.Interrupted)
	}
	for _, r := range res.Runs {
		h, err := holdfast.ReadHistory(filepath.Join(dir, filepath.FromSlash(r.History)))
		must.Succeed(t, err)
		v, err := holdfast.Judge(h)
		must.Succeed(t, err)
		if got, want := v.Verdicts[checker.Exclusion].Outcome, r.Verdicts[checker.Exclusion].Outcome; got != want {
			t.Errorf("%s: judged again exclusion is %s, was %s", r.Lock, got, want)
		}
	}
	again, err := holdfast.Replay(t.Context(), dir)
	must.Succeed(t, err)
	for _, r := range again {
		if r.Sameness != suite.Same {
			t.Errorf("%s gave another history: %.12s, stored %.12s", r.Run.Lock, r.Hash, r.Run.HistorySHA256)
		}
	}
	if len(again) != 2 {
		t.Errorf("replayed %d runs, want 2", len(again))
	}
}

func TestRunRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, o := range []holdfast.Options{{Scenarios: []string{"no-such"}}, {Locks: []string{"no-such"}}, {Scenarios: []string{"no/such.yaml"}}} {
		if _, err := holdfast.Run(t.Context(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// fullDisk is a runner whose histories cannot be written.
type fullDisk struct{}

func (fullDisk) Play(_ context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	for _, j := range jobs {
		got(suite.Answer{ID: j.ID, Output: "store history: no space left"})
	}
	return nil
}

// A caller must hear that the run directory lacks a history.
func TestRunSaysThatAHistoryIsNotStored(t *testing.T) {
	_, err := holdfast.Run(t.Context(), holdfast.Options{Scenarios: []string{"contention"}, Locks: []string{"setnx"}, Dir: filepath.Join(t.TempDir(), "run"), World: suite.Sim{Runner: fullDisk{}}})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the error is %v", err)
	}
}

// A scenario of one's own is a file, which Run plays like a built-in one.
func ExampleRun_file() {
	res, err := holdfast.Run(context.Background(), holdfast.Options{Scenarios: []string{"scenarios/catalogue/holder-pause.yaml"}, Locks: []string{"set-px"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := res.Runs[0].Verdicts[checker.Exclusion]
	fmt.Println(v.Outcome, v.Class, res.Runs[0].AsExpected)
	// Output: violated lease outlived true
}

func ExampleRun() {
	res, err := holdfast.Run(context.Background(), holdfast.Options{Scenarios: []string{"failover-lost-write"}, Locks: []string{"reentrant"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := res.Runs[0].Verdicts[checker.Exclusion]
	fmt.Println(v.Outcome, v.Class)
	// Output: violated contract broken
}
