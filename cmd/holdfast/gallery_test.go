package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/testworker"
)

// answering is a fake worker's script. It answers each job with verdicts, a piece
// of shell that sets $verdicts or $more by $seed and $scenario.
func answering(verdicts string) string {
	return `field() { printf '%s\n' "$line" | sed "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/"; }
id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/'); seed=$(field seed); scenario=$(printf '%s\n' "$line" | sed 's/{"id":[0-9]*,"scenario":"\([^"]*\)".*/\1/')
verdicts='"exclusion":{"verdict":"ok"}'; more=
` + verdicts + `
echo "{\"id\":$id,\"run\":{\"scenario\":\"$scenario\",\"lock\":\"m\",\"seed\":$seed,\"verdicts\":{$verdicts},\"expected\":{\"exclusion\":\"ok\",\"progress\":\"ok\",\"lease\":\"violated\"},\"stats\":{\"virtual_ms\":1000,\"wall_ms\":2}}$more}"`
}

// playGallery runs "holdfast selftest gallery" with two scenarios, one mutant and a
// fake worker.
func playGallery(t *testing.T, verdicts string, args ...string) (code int, r selftest.TrackRecord, stderr string) {
	t.Helper()
	t.Cleanup(func() { testOnlyWorker = "" })
	testOnlyWorker = testworker.Script(t, answering(verdicts))
	var stdout, errs bytes.Buffer
	args = append([]string{"selftest", "gallery", "set-without-nx", "--scenario", "contention,holder-pause", "--format", "json"}, args...)
	code = run(t.Context(), args, strings.NewReader(""), &stdout, &errs)
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("exit %d, %v: %s %s", code, err, &stdout, &errs)
	}
	return code, r, errs.String()
}

func TestATrialEndsWithTheFirstSeedThatKills(t *testing.T) {
	code, r, _ := playGallery(t, `case $seed in 3|14|15|25) verdicts='"exclusion":{"verdict":"violated"}';; esac
case $scenario in contention) verdicts='"exclusion":{"verdict":"ok"}';; esac`, "--trials", "3", "--seeds", "10")
	if code != exitOK {
		t.Fatalf("exit %d", code)
	}
	m := r.Mutants[0]
	var seeds []int
	for _, trial := range m.Trials {
		seeds = append(seeds, trial.Seeds)
	}
	if fmt.Sprint(seeds) != "[3 4 5]" || m.Seeds != 4 || m.Passes != 12 || m.Runs != 24 {
		t.Errorf("trials took %v seeds, median %d, %d passes, %d runs; want [3 4 5], 4, 12, 24", seeds, m.Seeds, m.Passes, m.Runs)
	}
	if len(m.Killers) != 1 || m.Killers[0] != (selftest.KillRow{Scenario: "holder-pause", Property: checker.Exclusion, Passes: 3}) {
		t.Errorf("killed by %+v", m.Killers)
	}
	if m.VirtualMS != 8000 || m.WallMS != 16 { // four seeds of two runs
		t.Errorf("killed after %v ms of virtual and %v ms of real time", m.VirtualMS, m.WallMS)
	}
}

// The scenario that kills in most seeds comes first, even if another one killed
// earlier.
func TestTheBestKillerIsTheSurest(t *testing.T) {
	_, r, _ := playGallery(t, `case $scenario$seed in contention1|holder-pause*) verdicts='"exclusion":{"verdict":"violated"},"lease":{"verdict":"violated"}';; esac`, "--trials", "2", "--seeds", "5")
	want := []selftest.KillRow{{Scenario: "holder-pause", Property: checker.Exclusion, Passes: 2}, {Scenario: "contention", Property: checker.Exclusion, Passes: 1}}
	if got := r.Mutants[0].Killers; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("killed by %v, want %v", got, want)
	}
}

func TestWhatKillsNothing(t *testing.T) {
	for _, tt := range []struct {
		name, verdicts string
		code           int
		says           string
	}{
		{"ok", ``, exitUnexpected, "1 mutant survived: set-without-nx"},
		{"unknown", `verdicts='"exclusion":{"verdict":"unknown"}'`, exitUnexpected, "exclusion in contention came out unknown, which kills nothing"},
		{"expected to be violated", `verdicts='"lease":{"verdict":"violated"}'`, exitUnexpected, "survived"},
		{"the worker died", `echo "panic: oh" >&2; exit 2`, exitUnexpected, "no verdict: contention with set-without-nx, seed 1: the process running the lock under test ended: exit status 2\n"},
		{"the judges disagree", `more=',"defect":"the judges disagree"'; verdicts='"exclusion":{"verdict":"violated"}'`, exitDefect, "defect: contention with m, seed 1: the judges disagree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, r, stderr := playGallery(t, tt.verdicts, "--trials", "1", "--seeds", "2")
			if code != tt.code || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, want %d and %q in:\n%s", code, tt.code, tt.says, stderr)
			}
			if r.Summary.Killed != 0 || r.Summary.Survived != 1 || r.Summary.Score == nil || *r.Summary.Score != 0 {
				t.Errorf("counted as %+v", r.Summary)
			}
		})
	}
}

func TestAnInterruptedGalleryPrintsWhatRan(t *testing.T) {
	t.Cleanup(func() { testOnlyWorker = "" })
	started := filepath.Join(t.TempDir(), "started")
	testOnlyWorker = testworker.Script(t, answering(fmt.Sprintf(`case $seed in 2) touch %s; exec sleep 600;; esac`, started)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for { // the second seed is under way when the file appears
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"selftest", "gallery", "set-without-nx", "--scenario", "contention", "--trials", "1"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted with 0 mutants of 1 killed") {
		t.Errorf("exit %d, stderr %s", code, &stderr)
	}
	if !strings.Contains(stdout.String(), "unfinished") || !strings.Contains(stdout.String(), "0 of 1 killed. 1 run in") {
		t.Errorf("stdout:\n%s", &stdout)
	}
}
