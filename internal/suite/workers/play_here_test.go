package workers

import (
	"os/exec"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// A system without worker processes must record the same history as others do.
func TestPlayHereGivesTheHistoryOfAWorker(t *testing.T) {
	exe, err := exec.LookPath("holdfast")
	must.Succeed(t, err)
	source, err := scenarios.Source("holder-pause")
	must.Succeed(t, err)
	all := []suite.Job{
		{ID: 0, Scenario: "holder-pause", File: "holder-pause.yaml", Source: string(source), Lock: "reentrant", Seed: 1},
		{ID: 1, Scenario: "holder-pause", File: "holder-pause.yaml", Source: string(source), Lock: "reentrant", Seed: 2},
	}
	want, err := Pool{Exe: exe, Workers: 1, Stall: time.Minute}.Gather(t.Context(), all, func() {})
	must.Succeed(t, err)
	var got []suite.Answer
	must.Succeed(t, (suite.Here{}).Play(t.Context(), all, func(a suite.Answer) { got = append(got, a) }))
	if len(got) != len(all) {
		t.Fatalf("%d answers, want %d", len(got), len(all))
	}
	for i, a := range got {
		if a.Defect != "" || a.Run.HistorySHA256 == "" || a.Run.HistorySHA256 != want[i].Run.HistorySHA256 {
			t.Errorf("seed %d: history %q, defect %q; the worker's is %q", all[i].Seed, a.Run.HistorySHA256, a.Defect, want[i].Run.HistorySHA256)
		}
	}
}
