package report

import (
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
)

// DocumentOf returns the content of the report: the results, with the scenarios
// and histories of the directory. It shows no history of edited, the files that were changed since.
func DocumentOf(d suite.Dir, res results.Results, edited ...string) reports.Document {
	doc := reports.Document{Results: res, Missing: d.Missing(res), Hazards: faults.Families()}
	read := func(read func(path string) (*history.History, error)) func(results.Run) (*history.History, error) {
		return func(r results.Run) (*history.History, error) {
			if r.History == "" || slices.Contains(doc.Missing, r.History) {
				return nil, nil
			}
			if slices.Contains(edited, r.History) {
				return nil, errors.New("it was changed since the run")
			}
			return read(d.File(r.History))
		}
	}
	doc.Histories, doc.WithoutServerLog = read(suite.ReadHistory), read(suite.ReadWithoutServerLog)
	doc.Identity = func(r results.Run, p checker.Property) string {
		s, failed := scenarios.Load(d.File("scenarios", r.Scenario+".yaml"))
		h, err := doc.Histories(r)
		if failed != nil || err != nil || h == nil {
			return ""
		}
		return Identity(s, h, r.Verdicts, p)
	}
	played := english.Words(res.Runs, func(r results.Run) string { return r.Scenario })
	listed := slices.DeleteFunc(scenarios.Names(), func(name string) bool { return !slices.Contains(played, name) })
	seen := map[string]bool{}
	for _, name := range append(listed, played...) {
		if seen[name] {
			continue
		}
		seen[name] = true
		if s, err := scenarios.Load(d.File("scenarios", name+".yaml")); err == nil {
			hazard := faults.FamilyOf(s.Faults)
			doc.About = append(doc.About, reports.About{
				Name: s.Name, Title: s.Title, Story: s.Story, Hazard: hazard, Operators: faults.ByOperators(hazard), Otherwise: s.Otherwise, File: path.Join("scenarios", name+".yaml"),
				RoundTrip: roundTrip(s),
			})
		}
	}
	return doc
}

// Identity is the key of the cause of a violation, with the kind of the request that
// proves it.
func Identity(s *scenarios.Scenario, h *history.History, verdicts map[checker.Property]checker.Verdict, p checker.Property) string {
	for _, c := range search.Of(s, h, verdicts) {
		if c.Property != p {
			continue
		}
		role := "no-request"
		for _, e := range h.Events {
			if ops := verdicts[p].Ops; len(ops) > 0 && e.Op == ops[0] && e.Kind == history.Invoke {
				role = string(e.F)
			}
		}
		return c.Key() + "_" + role
	}
	return ""
}

// roundTrip is the assumed latency of a request and its reply, in ms.
func roundTrip(s *scenarios.Scenario) float64 {
	l := cmp.Or(s.Topology.Latency, scenarios.DefaultLatency)
	return float64(time.Duration(l.Min)+time.Duration(l.Max)) / float64(time.Millisecond)
}

func WriteReport(d suite.Dir, doc reports.Document) error {
	defer suite.CollectRarely(64 << 20)() // each history is garbage once it is drawn
	return disk.File(d.File("report.html"), func(w io.Writer) error { return doc.HTML(w) })
}

// Draw renders the report of a run directory.
func Draw(d suite.Dir, res results.Results) error { return WriteReport(d, DocumentOf(d, res)) }
