package reports

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

// A reader who compares two nights must see which findings are new and which are gone, and
// find the scenario of each.
func TestFindingsAreNewKnownOrGone(t *testing.T) {
	run := func(scenario, file string) results.Run {
		r := cardRun(scenario, "mine", checker.Exclusion)
		r.File, r.Expected = file, map[checker.Property]checker.Outcome{checker.Exclusion: checker.OutcomeOK}
		return r
	}
	d := Document{Identity: func(r results.Run, p checker.Property) string { return string(p) + "_" + r.Scenario }}
	d.Results.Runs = []results.Run{run("pause", ""), run("night", "./ci/night.yaml")}
	states := func() map[string]string {
		t.Helper()
		var b bytes.Buffer
		must.Succeed(t, d.SARIF(&b))
		var log sarifLog
		must.Succeed(t, json.Unmarshal(b.Bytes(), &log))
		got := map[string]string{}
		for _, r := range log.Runs[0].Results {
			at := ""
			if len(r.Locations) > 0 {
				at = r.Locations[0].Physical.Artifact.URI
			}
			got[r.Fingerprints[fingerprint]+" "+at] = r.State
		}
		return got
	}
	if got := slices.Sorted(maps.Values(states())); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("without an earlier run: %q", got)
	}
	d.Earlier = map[[2]string]checker.Property{{"mine", "exclusion_pause"}: checker.Exclusion, {"mine", "progress_crash"}: checker.Progress}
	want := map[string]string{"exclusion_pause scenarios/pause.yaml": "unchanged", "exclusion_night ci/night.yaml": "new", "progress_crash ": "absent"}
	if got := states(); !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(d.Earlier) != 2 {
		t.Error("writing a report changes what it was given")
	}
}
