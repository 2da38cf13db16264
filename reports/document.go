// Package reports renders the results of runs for people and programs: text, JSON, JUnit,
// Markdown and HTML. It reads results and histories; it judges nothing and runs nothing.
package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Document is the input of the renderers: the results, and additions for people.
// Only Results is required.
type Document struct {
	Results results.Results

	// About describes the scenarios, in the order of the report. Other scenarios
	// follow in the order of their first run.
	About []About

	// Histories returns the recorded history of a run. If it is nil, fails, or
	// returns nil, the report says that the history is missing. The report calls
	// it once for each run, and again for the two on its first screen. It keeps no history.
	Histories func(results.Run) (*history.History, error)

	// WithoutServerLog returns the same history without the events of servers, for a
	// run that the report only counts. If it is nil, the report calls Histories.
	WithoutServerLog func(results.Run) (*history.History, error)

	// Identity names a violation by its cause and by the request that shows it: not by
	// words, seeds or times. It is "" if the history is not there, and may be nil.
	Identity func(results.Run, checker.Property) string

	// Earlier are the findings of an earlier run, by lock and identity. SARIF then says which
	// ones are new, and which are gone. It is nil without an earlier run.
	Earlier map[[2]string]checker.Property

	// Missing lists the histories that the results name and that do not exist.
	Missing []string

	// Hazards is the order of the groups that About names.
	Hazards []string

	// Width is the most characters of a line of text; 0 for the width of most terminals.
	Width  int
	Colour bool // of verdicts in a text

	// Reference names the lock whose runs are drawn even if all is well; empty
	// means "reentrant".
	Reference string
}

func (d Document) reference() string { return cmp.Or(d.Reference, "reentrant") }

// history loads the history of a run, or says why it cannot.
func (d Document) history(r results.Run) (h *history.History, absent string) {
	return historyOf(r, d.Histories)
}

func historyOf(r results.Run, read func(results.Run) (*history.History, error)) (h *history.History, absent string) {
	if read == nil {
		return nil, "The history of this run is not part of this report."
	}
	h, err := read(r)
	switch {
	case err != nil:
		return nil, "The history of this run could not be read: " + english.Clean(err.Error())
	case h == nil:
		return nil, "The history of this run is not there."
	}
	return h, ""
}

// mark sums up one run, or one cell of the matrix. Larger is worse.
type mark int

const (
	markNone     mark = iota // not run
	markSkipped              // does not apply
	markOK                   // every property ok
	markOther                // another property than exclusion violated
	markStuck                // progress and cleanup violated: the lock never becomes free
	markUnknown              // a verdict is unknown, or the run could not be judged
	markOutlived             // exclusion violated: lease outlived
	markOverlap              // exclusion violated, and the history does not show whose fault it is
	markBroken               // exclusion violated: contract broken
)

// look is the appearance of a mark. No two marks share a symbol, so that nothing
// depends on colour.
type look struct {
	ascii, symbol, word, meaning string
}

var looks = map[mark]look{
	markNone:     {" ", "", "not run", "not run"},
	markSkipped:  {"-", "–", "skipped", "the scenario does not apply to the lock, or could not be played here"},
	markOK:       {"ok", "✓", "ok", "every property holds"},
	markOther:    {"!", "!", "other", "another property is violated"},
	markStuck:    {"D", "∞", "stuck", "deadlock: nobody uses the lock, and it never becomes free"},
	markOutlived: {"~", "~", "outlived", "exclusion violated, lease outlived: the holder went on after its lease"},
	markOverlap:  {"#", "≠", "overlap", "exclusion violated; without a server log nobody can say whether a lease had ended"},
	markUnknown:  {"?", "?", "unknown", "not decided, or the run could not be judged"},
	markBroken:   {"X", "✗", "broken", "exclusion violated, contract broken: granted while a live lease existed"},
}

// legend is the order in which marks are explained.
var legend = []mark{markOK, markBroken, markOverlap, markOutlived, markStuck, markOther, markUnknown, markSkipped}

// harmMarks are the marks of harms; a harm without one is a violation of another property.
var harmMarks = map[checker.Harm]mark{
	checker.NoHarm: markOK, checker.Deadlock: markStuck, checker.TwoHoldersPastLease: markOutlived, checker.TwoHolders: markBroken,
}

func harmMark(h checker.Harm) mark { return cmp.Or(harmMarks[h], markOther) }

func markOf(r *results.Run) mark {
	m := harmMark(checker.HarmOf(r.Verdicts))
	if m == markBroken && r.Verdicts[checker.Exclusion].Class != checker.ContractBroken {
		m = markOverlap
	}
	if undecided(r) {
		m = max(m, markUnknown)
	}
	return m
}

// isInteresting reports whether a run deserves a story and a diagram.
func isInteresting(r *results.Run) bool { return markOf(r) != markOK || !r.Passed() }

// propertyOrder is the order in which reports show the properties.
var propertyOrder = func() (order []checker.Property) {
	for _, p := range checker.Properties() {
		order = append(order, p.Name)
	}
	return order
}()

// propertiesOf returns the properties of a run in the order of reports. Unknown
// ones come last.
func propertiesOf(r *results.Run) []checker.Property {
	place := func(p checker.Property) int { return slices.Index(propertyOrder, p) }
	all := slices.Sorted(maps.Keys(r.Verdicts))
	slices.SortStableFunc(all, func(a, b checker.Property) int {
		return cmp.Or(before(place(a) >= 0, place(b) >= 0), place(a)-place(b))
	})
	return all
}

// verdictWords states a verdict: "violated (contract broken)".
func verdictWords(outcome checker.Outcome, class string) string {
	if class == "" {
		return english.Clean(string(outcome))
	}
	return english.Clean(string(outcome)) + " (" + english.Clean(class) + ")"
}

// expectedWords states the expected verdict in the same words.
func expectedWords(r *results.Run, p checker.Property) string {
	want, ok := r.Expected[p]
	if !ok {
		return "-"
	}
	return verdictWords(want, r.ExpectedClass[p])
}

// verdictFacts states the facts of a verdict in one line: who is at fault, when,
// how long, and which operations prove it.
func verdictFacts(v checker.Verdict) string {
	var parts []string
	switch {
	case v.Inherent != "":
		parts = append(parts, "inherent: "+english.Clean(v.Inherent))
	case v.Faulty():
		parts = append(parts, "the lock's own fault")
	}
	if v.AtMS != 0 {
		parts = append(parts, "at "+history.At(int64(v.AtMS*1e6)))
	}
	if v.OverlapMS != 0 {
		parts = append(parts, "longest overlap "+milliseconds(v.OverlapMS))
	}
	if len(v.Ops) > 0 {
		ids := english.Words(v.Ops, func(op int64) string { return strconv.FormatInt(op, 10) })
		parts = append(parts, "operations "+strings.Join(ids, ", "))
	}
	if v.Evidence != "" {
		parts = append(parts, "rests on the "+english.Clean(v.Evidence))
	}
	return strings.Join(parts, "; ")
}

// because is the argument for an expected verdict. It is empty if that argument
// is also the reason why the verdict is inherent, which the facts state.
func because(r *results.Run, p checker.Property) string {
	if reason, ok := r.Accepted[p]; ok {
		return english.Clean("accepted: " + reason)
	}
	if v := r.Verdicts[p]; v.Inherent != "" && strings.Contains(r.Because[p], v.Inherent) {
		return ""
	}
	return english.Clean(r.Because[p])
}

// About describes a scenario for the report.
type About struct {
	Name      string
	Title     string
	Story     string  // the events, in a paragraph
	Hazard    string  // the hazard, by which the report groups scenarios
	Operators bool    // it is the act of an operator
	Otherwise string  // the argument why a lock survives it
	File      string  // the scenario's file, relative to the report; empty without one
	RoundTrip float64 // mean time of a request and its reply, in ms; 0 for unknown
}

// about finds what is known of a scenario.
func (d Document) about(scenario string) About {
	for _, a := range d.About {
		if a.Name == scenario {
			return a
		}
	}
	return About{Name: scenario}
}

// otherHazards is the group of scenarios that name no hazard.
const otherHazards = "scenarios"

// goneWords lists the accepted violations that no run shows any more.
func (d Document) goneWords() string {
	return listed("Accepted, and not seen any more", d.Results.Gone)
}

// missingWords lists the missing histories; empty if none is missing.
func (d Document) missingWords() string { return listed("Missing", d.Missing) }

func listed(what string, all []string) string {
	if len(all) == 0 {
		return ""
	}
	return english.Clean(fmt.Sprintf("%s: %s.", what, strings.Join(all, ", ")))
}
