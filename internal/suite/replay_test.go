package suite

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
)

// here plays jobs in this process.
type here struct{}

func (here) Play(_ context.Context, jobs []Job, got func(Answer)) error {
	for _, j := range jobs {
		got(PlayJob(j, func(run func()) { run() }))
	}
	return nil
}

// A directory of an older release replays: its headers may differ, its events
// may not.
func TestReplayComparesTheEventsWhenTheHeaderIsOlder(t *testing.T) {
	source, err := scenarios.Source("contention")
	must.Succeed(t, err)
	for want, change := range map[Sameness]func(*history.History){
		Same:       func(*history.History) {},
		SameEvents: func(h *history.History) { h.Header.Version = "0.0.1" },
		Different:  func(h *history.History) { h.Events[0].Time++ },
	} {
		dir, err := Create(t.TempDir(), results.Results{})
		must.Succeed(t, err)
		must.Succeed(t, dir.WriteScenario("contention", source))
		path := HistoryPath("contention", "reentrant", 1, "")
		j := Job{Scenario: "contention", File: "contention.yaml", Source: string(source), Lock: "reentrant", Seed: 1, History: dir.File(path), Path: path}
		a := PlayJob(j, func(run func()) { run() })
		h, err := ReadHistory(j.History)
		must.Succeed(t, err)
		change(h)
		must.Succeed(t, Store(j.History, h))
		a.Run.HistorySHA256 = h.Hash()
		runs := []results.Run{a.Run}
		jobs, err := dir.ReplayJobs(runs, play.Watch{})
		must.Succeed(t, err)
		steps := 0
		got, err := Replay(t.Context(), jobs, runs, here{}, func() { steps++ })
		if err != nil || len(got) != 1 || got[0].Sameness != want || steps != 1 {
			t.Errorf("%+v after %d steps, %v, want %s", got, steps, err, want)
		}
	}
}
