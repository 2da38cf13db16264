package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
)

// A reader of the first screen must not take a lock with a fault of its own for one that
// breaks as any other would. Nor is a hazard survived that was not played or decided.
func TestThePictureTellsWhatBreaks(t *testing.T) {
	own, inherent, undecided := cardRun("failover-a", "own", checker.Exclusion), cardRun("failover-a", "best", checker.Exclusion), cardRun("pause-a", "own")
	v := inherent.Verdicts[checker.Exclusion]
	v.Inherent, v.OverlapMS = "the servers lost it", 1500
	inherent.Verdicts[checker.Exclusion] = v
	undecided.Verdicts[checker.Progress] = checker.Verdict{Outcome: checker.Unknown}
	d := Document{Hazards: []string{"failover", "pause", "clock"}}
	for _, h := range d.Hazards {
		d.About = append(d.About, About{Name: h + "-a", Hazard: h})
	}
	d.Results.Runs = append(d.Results.Runs, own, inherent, undecided, cardRun("pause-a", "best"), cardRun("clock-a", "best"))
	got := newPager(nil, d).picture()
	if strings.Join(got.Locks, " ") != "best own" || got.Answer != "best survives the most, 2 of 3 hazards. Under failover any lock with its promises breaks." {
		t.Errorf("%q of %q", got.Answer, got.Locks)
	}
	for i, want := range [][2]string{{"inherent", "broken"}, {"ok", "unknown"}, {"ok", "skipped"}} {
		if cells := got.Rows[i].Cells; cells[0].Class != want[0] || cells[1].Class != want[1] {
			t.Errorf("%s: %+v, want %q", got.Rows[i].Hazard, cells, want)
		}
	}
	const says = "best, failover: breaks in 1 of 1 scenario: two holders; so would any lock with the same promises; two holders for up to 1.5 s"
	if c := got.Rows[0].Cells[0]; c.Says != says || c.Anchor != "failover-a/best" {
		t.Errorf("%+v", c)
	}
	d.Results.Runs = d.Results.Runs[:1]
	if newPager(nil, d).picture() != nil {
		t.Error("a single cell needs no picture")
	}
}
