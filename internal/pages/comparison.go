package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// comparisonSchema names the format of [Comparison] as JSON.
const comparisonSchema = "holdfast-compare/1"

// Comparison lists the differences between two run directories: of their verdicts, the
// first event at which two histories differ, and measurements.
type Comparison struct {
	Schema string       `json:"schema"`
	Before comparedSide `json:"before"`
	After  comparedSide `json:"after"`
	Same   int          `json:"same"` // runs with the same verdicts, and the same events where they are stored
	// Unstored counts those of the same without a history, whose events cannot be
	// compared.
	Unstored int    `json:"unstored,omitempty"`
	Runs     []Pair `json:"runs"` // those that differ
	// Findings are the unexpected violations of both sides, each by its identity.
	Findings []Finding `json:"findings,omitempty"`
}

type comparedSide struct {
	Dir     string        `json:"dir"`
	Version string        `json:"version"`
	Made    *results.Made `json:"made,omitempty"`
	Runs    int           `json:"runs"`
}

type Change string

// The changes, from the one that matters most.
const (
	Regression  Change = "regression"  // a verdict is worse, or no longer as expected
	Missing     Change = "missing"     // the run is not there any more
	Other       Change = "changed"     // a verdict is another, and neither better nor worse
	Improvement Change = "improvement" // a verdict is better
	New         Change = "new"         // the run was not there
	Events      Change = "events"      // the verdicts are the same, and the histories are not
)

var changes = []Change{Regression, Missing, Other, Improvement, New, Events}

type Pair struct {
	Scenario string           `json:"scenario"`
	Lock     string           `json:"lock"`
	User     string           `json:"user,omitempty"`
	World    string           `json:"world"`
	Seed     uint64           `json:"seed"`
	Change   Change           `json:"change"`
	Verdicts []ChangedVerdict `json:"verdicts,omitempty"`
	// First is the first event at which the histories part; nil when they do not,
	// or when one of them is not there, which Note says.
	First *Event `json:"first,omitempty"`
	Note  string `json:"note,omitempty"`
	// OverlapMS is the time with two holders, and HandoffMS the median hand-off,
	// before and after; nil where neither changed.
	OverlapMS *[2]float64 `json:"overlap_ms,omitempty"`
	HandoffMS *[2]float64 `json:"handoff_ms,omitempty"`

	before, after *results.Run // nil where it is not there
}

type ChangedVerdict struct {
	Property checker.Property `json:"property"`
	Before   string           `json:"before"`
	After    string           `json:"after"`
	Reason   string           `json:"reason,omitempty"` // of the one after
}

// Event is a line of two histories that is not the same.
type Event struct {
	Line   int     `json:"line"` // of the file, counting from 1
	AtMS   float64 `json:"at_ms"`
	Before string  `json:"before"` // in words
	After  string  `json:"after"`
}

// Finding is an unexpected violation, whatever runs show it.
type Finding struct {
	Identity string           `json:"identity"`
	Property checker.Property `json:"property"`
	Lock     string           `json:"lock"`
	State    string           `json:"state"` // "new", "known" or "gone"
}

// findings compares the unexpected violations of two run directories by their identity.
func findings(before, after suite.Dir, a, b results.Results) []Finding {
	side := func(dir suite.Dir, res results.Results) map[Finding]bool {
		identity, all := report.DocumentOf(dir, res).Identity, map[Finding]bool{}
		for _, r := range res.Runs {
			for p, v := range r.Verdicts {
				if v.Outcome != checker.Violated || r.Matches(p) {
					continue
				}
				if id := identity(r, p); id != "" {
					all[Finding{Identity: id, Property: p, Lock: r.Column()}] = true
				}
			}
		}
		return all
	}
	was, is := side(before, a), side(after, b)
	var all []Finding
	for f := range is {
		f.State = map[bool]string{true: "known", false: "new"}[was[f]]
		all = append(all, f)
	}
	for f := range was {
		if !is[f] {
			f.State = "gone"
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y Finding) int {
		return cmp.Or(-cmp.Compare(x.State, y.State), cmp.Compare(x.Lock, y.Lock), cmp.Compare(x.Identity, y.Identity))
	})
	return all
}

// SARIF writes the findings after the change, for tools that compare findings themselves.
func (d *Comparison) SARIF(w io.Writer) error {
	dir := suite.Dir(d.After.Dir)
	res, err := dir.ReadResults()
	if err != nil {
		return err
	}
	doc := report.DocumentOf(dir, res)
	doc.Earlier = map[[2]string]checker.Property{}
	for _, f := range d.Findings {
		if f.State != "new" {
			doc.Earlier[[2]string{f.Lock, f.Identity}] = f.Property
		}
	}
	return doc.SARIF(w)
}

// Regressed reports whether anything got worse, or is not there any more.
func (d *Comparison) Regressed() bool {
	return slices.ContainsFunc(d.Runs, func(r Pair) bool { return r.Change == Regression || r.Change == Missing })
}

// Compare compares two run directories.
func Compare(before, after suite.Dir) (*Comparison, error) {
	a, err := before.ReadResults()
	if err != nil {
		return nil, err
	}
	b, err := after.ReadResults()
	if err != nil {
		return nil, err
	}
	d := &Comparison{Schema: comparisonSchema, Before: sideOf(before, a), After: sideOf(after, b), Runs: []Pair{}}
	d.Findings = findings(before, after, a, b)
	old := map[suite.RunID]*results.Run{}
	for i := range a.Runs {
		old[suite.IDOf(&a.Runs[i])] = &a.Runs[i]
	}
	for i := range b.Runs {
		k := suite.IDOf(&b.Runs[i])
		x := old[k]
		delete(old, k)
		if x == nil {
			d.Runs = append(d.Runs, pairOf(nil, &b.Runs[i], New))
			continue
		}
		if r := compareRuns(before, after, x, &b.Runs[i]); r != nil {
			d.Runs = append(d.Runs, *r)
		} else {
			d.Same++
			if x.HistorySHA256 == "" {
				d.Unstored++
			}
		}
	}
	for i := range a.Runs {
		if x := old[suite.IDOf(&a.Runs[i])]; x != nil {
			d.Runs = append(d.Runs, pairOf(x, nil, Missing))
		}
	}
	slices.SortStableFunc(d.Runs, func(x, y Pair) int { return slices.Index(changes, x.Change) - slices.Index(changes, y.Change) })
	return d, nil
}

func sideOf(dir suite.Dir, res results.Results) comparedSide {
	return comparedSide{Dir: string(dir), Version: res.Version, Made: res.Made, Runs: len(res.Runs)}
}

// pairOf is a run before and after, of which one may be nil.
func pairOf(x, y *results.Run, c Change) Pair {
	r := cmp.Or(x, y)
	return Pair{Scenario: r.Scenario, Lock: r.Lock, User: r.User, World: r.World, Seed: r.Seed, Change: c, before: x, after: y}
}

// compareRuns compares a run with the same run of the other directory; nil when nothing
// differs.
func compareRuns(before, after suite.Dir, x, y *results.Run) *Pair {
	r := pairOf(x, y, Events)
	better, worse := false, false
	for _, p := range judgedIn(x, y) {
		a, b := verdictWords(x.Verdicts, p, "not judged"), verdictWords(y.Verdicts, p, "not judged")
		if a == b {
			continue
		}
		r.Verdicts = append(r.Verdicts, ChangedVerdict{p, a, b, y.Verdicts[p].Reason})
		switch from, to := badness(x, p), badness(y, p); {
		case to > from:
			worse = true
		case to < from:
			better = true
		}
	}
	if x.Failure != y.Failure && (x.Failure == "") != (y.Failure == "") {
		worse, better = worse || y.Failure != "", better || x.Failure != ""
		r.Note = "it could not be judged: " + cmp.Or(x.FailureReason(), y.FailureReason())
	}
	switch {
	case worse || x.Passed() && !y.Passed():
		r.Change = Regression
	case better || !x.Passed() && y.Passed():
		r.Change = Improvement
	case len(r.Verdicts) > 0:
		r.Change = Other
	}
	sameHistory := x.HistorySHA256 == y.HistorySHA256
	if !sameHistory {
		r.histories(before, after, x, y)
	}
	if r.Change == Events && sameHistory {
		return nil
	}
	return &r
}

func judgedIn(x, y *results.Run) []checker.Property {
	var all []checker.Property
	for _, p := range checker.Properties() {
		_, a := x.Verdicts[p.Name]
		_, b := y.Verdicts[p.Name]
		if a || b {
			all = append(all, p.Name)
		}
	}
	return all
}

// verdictWords are the verdict on a property, or none where there is no verdict.
func verdictWords(verdicts map[checker.Property]checker.Verdict, p checker.Property, none string) string {
	v, ok := verdicts[p]
	switch {
	case !ok:
		return none
	case v.Class != "":
		return string(v.Outcome) + " (" + v.Class + ")"
	}
	return string(v.Outcome)
}

// badness orders verdicts: a violation by the lock's own fault is the worst.
func badness(r *results.Run, p checker.Property) int {
	v, ok := r.Verdicts[p]
	switch {
	case !ok:
		return 1
	case v.Outcome == checker.OutcomeOK:
		return 0
	case v.Outcome == checker.Unknown:
		return 2
	case v.Class == checker.LeaseOutlived:
		return 3
	}
	return 4
}

// histories looks for the first event at which two histories part.
func (r *Pair) histories(before, after suite.Dir, x, y *results.Run) {
	a, errA := readHistory(before, x)
	b, errB := readHistory(after, y)
	if errA != nil || errB != nil {
		r.Note = strings.TrimSpace(r.Note + " the histories differ, and one of them cannot be read")
		return
	}
	if r.First = firstDifference(a, b); r.First == nil {
		r.Note = strings.TrimSpace(r.Note + " the events are the same, and the headers are not")
	}
	wasOverlap, wasHandoff := reports.Measure(a)
	overlap, handoff := reports.Measure(b)
	if overlap != wasOverlap {
		r.OverlapMS = &[2]float64{float64(wasOverlap) / 1e6, float64(overlap) / 1e6}
	}
	if handoff != wasHandoff {
		r.HandoffMS = &[2]float64{float64(wasHandoff) / 1e6, float64(handoff) / 1e6}
	}
}

func readHistory(d suite.Dir, r *results.Run) (*history.History, error) {
	if r.History == "" {
		return nil, fmt.Errorf("the history of %s with %s was not stored", r.Scenario, r.Lock)
	}
	return suite.ReadHistory(d.File(r.History))
}

// firstDifference is the first event that differs.
func firstDifference(a, b *history.History) *Event {
	for i := range max(len(a.Events), len(b.Events)) {
		if i < len(a.Events) && i < len(b.Events) && raw(&a.Events[i]) == raw(&b.Events[i]) {
			continue
		}
		e := &Event{Line: i + 2, Before: "the history is over", After: "the history is over"}
		if i < len(b.Events) {
			e.AtMS, e.After = float64(b.Events[i].Time)/1e6, story.Narrate(b)[i]
		}
		if i < len(a.Events) {
			e.AtMS, e.Before = float64(a.Events[i].Time)/1e6, story.Narrate(a)[i]
		}
		if e.Before == e.After {
			e.Before, e.After = raw(&a.Events[i]), raw(&b.Events[i])
		}
		return e
	}
	return nil
}

func raw(e *history.Event) string {
	line, err := json.Marshal(e)
	if err != nil {
		panic("pages: encode event: " + err.Error()) // it was read from JSON
	}
	return string(line)
}
