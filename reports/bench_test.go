package reports

import (
	"io"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

// BenchmarkHTML renders a report of 348 runs, every one of them drawn, with
// histories of about 2,000 events.
func BenchmarkHTML(b *testing.B) {
	var d Document
	histories := map[[2]string]*history.History{}
	for i, s := range sampleScenarios {
		for j, l := range sampleLocks {
			h, r := contentionStory(l, 8, 25, uint64(i*12+j))
			r.Scenario = s
			v := r.Verdicts[checker.Progress]
			v.Outcome = checker.Violated
			r.Verdicts[checker.Progress] = v
			histories[[2]string{s, l}] = h
			d.Results.Runs = append(d.Results.Runs, r)
		}
	}
	d.Histories = func(r results.Run) (*history.History, error) { return histories[[2]string{r.Scenario, r.Lock}], nil }
	for b.Loop() {
		must.Succeed(b, d.HTML(io.Discard))
	}
	b.ReportMetric(float64(len(histories)), "runs")
}
