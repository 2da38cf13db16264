package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// matrix arranges runs by scenario (rows) and lock (columns).
type matrix struct {
	scenarios []string
	locks     []string
	cells     map[[2]string]*cell
}

// cell has the runs of one lock in one scenario.
type cell struct {
	scenario, lock string
	runs           []*results.Run // one per seed, in the order of the results
	skip           *results.Skip
}

// newMatrix keeps the order of d.About for the scenarios. Other scenarios, and
// the locks, are in the order of their first appearance.
func newMatrix(d Document) *matrix {
	// A scenario that plays only some locks must not reorder the columns. Runs
	// and skips of one scenario name the locks in the same order, so the scenario
	// with the most locks decides.
	m := &matrix{locks: longestLockList(d.Results), cells: map[[2]string]*cell{}}
	at := func(scenario, lock string) *cell {
		m.scenarios, m.locks = added(m.scenarios, scenario), added(m.locks, lock)
		key := [2]string{scenario, lock}
		if m.cells[key] == nil {
			m.cells[key] = &cell{scenario: scenario, lock: lock}
		}
		return m.cells[key]
	}
	for i := range d.Results.Runs {
		r := &d.Results.Runs[i]
		c := at(r.Scenario, r.Column())
		c.runs = append(c.runs, r)
	}
	for i := range d.Results.Skipped {
		s := &d.Results.Skipped[i]
		at(s.Scenario, s.Column()).skip = s
	}
	rank := map[string]int{}
	for i, a := range d.About {
		if _, ok := rank[a.Name]; !ok {
			rank[a.Name] = i - len(d.About)
		}
	}
	slices.SortStableFunc(m.scenarios, func(a, b string) int { return rank[a] - rank[b] })
	return m
}

// added is a list with one more item, unless it has that already.
func added[T comparable](list []T, item T) []T {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

func longestLockList(res results.Results) []string {
	lists := map[string][]string{}
	var best []string
	for i := range res.Runs {
		r := &res.Runs[i]
		if slices.Contains(lists[r.Scenario], r.Column()) {
			continue
		}
		lists[r.Scenario] = append(lists[r.Scenario], r.Column())
		if l := lists[r.Scenario]; len(l) > len(best) {
			best = l
		}
	}
	return best
}

// cell returns nil for a pair that has neither run nor skip.
func (m *matrix) cell(scenario, lock string) *cell { return m.cells[[2]string{scenario, lock}] }

// worst returns the run that stands for the cell: an unexpected one before an
// expected one, then the worse mark, then the first.
func (c *cell) worst() *results.Run {
	var w *results.Run
	for _, r := range c.runs {
		if w == nil || w.Passed() && !r.Passed() || w.Passed() == r.Passed() && markOf(r) > markOf(w) {
			w = r
		}
	}
	return w
}

func (c *cell) mark() mark {
	switch {
	case c == nil:
		return markNone
	case len(c.runs) == 0 && c.skip != nil:
		return markSkipped
	case len(c.runs) == 0:
		return markNone
	}
	return markOf(c.worst())
}

// share says how many runs of a cell have its mark: "3 of 20"; empty for a single run.
func (c *cell) share() string {
	if c == nil || len(c.runs) < 2 || c.mark() == markOK {
		return ""
	}
	n := 0
	for _, r := range c.runs {
		if markOf(r) == c.mark() {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(c.runs))
}

func (c *cell) expected() bool { return c == nil || len(c.runs) == 0 || c.worst().Passed() }

// finding is one unexpected or unknown verdict. Several seeds with the same
// finding are one entry.
type finding struct {
	run      *results.Run // the first run that shows it
	property string
	got      string
	want     string
	reason   string
	tail     []string // lines that explain the reason
	facts    string   // when, and by which operations
	because  string
	also     []string // other properties of the same runs with the same result
	violated bool
	expected bool     // an unknown verdict that the scenario expects
	seeds    []uint64 // every seed with this finding
	of       int      // how many seeds were run
}

// findings lists unexpected and unknown verdicts, in the order of the matrix.
func (m *matrix) findings() []finding {
	var out []finding
	for _, s := range m.scenarios {
		for _, l := range m.locks {
			c := m.cell(s, l)
			if c == nil {
				continue
			}
			first := len(out)
			for _, r := range c.runs {
				for _, f := range findingsOf(r) {
					i := slices.IndexFunc(out[first:], func(g finding) bool {
						return g.property == f.property && g.got == f.got && g.expected == f.expected
					})
					if i < 0 {
						f.of = len(c.runs)
						out = append(out, f)
						continue
					}
					out[first+i].seeds = append(out[first+i].seeds, r.Seed)
				}
			}
			out = append(out[:first], together(out[first:])...)
		}
	}
	return out
}

// together merges the findings that the same runs of a cell show. One mistake of a lock
// often violates several properties, and a run that proves nothing leaves every property
// undecided. The first one stays, and names the others.
func together(all []finding) []finding {
	var out []finding
	for _, f := range all {
		i := slices.IndexFunc(out, func(g finding) bool {
			alike := f.violated && g.violated || f.got == g.got && f.reason == g.reason
			return alike && g.expected == f.expected && slices.Equal(g.seeds, f.seeds)
		})
		if i < 0 {
			out = append(out, f)
			continue
		}
		if !f.violated {
			f.got = ""
		}
		out[i].also = append(out[i].also, strings.TrimSpace(f.property+" "+f.got))
	}
	return out
}

// alsoWords names the other findings of the same runs.
func (f *finding) alsoWords() string {
	if len(f.also) == 0 {
		return ""
	}
	if !f.violated {
		return "the same for " + english.And(f.also)
	}
	return "also " + english.And(f.also)
}

func findingsOf(r *results.Run) []finding {
	var out []finding
	seeds := []uint64{r.Seed}
	if r.Failure != "" {
		reason, tail := failureOf(r)
		out = append(out, finding{run: r, property: "run", got: "failed", want: "a verdict", reason: reason, tail: tail, seeds: seeds})
	}
	for _, p := range propertiesOf(r) {
		v := r.Verdicts[p]
		if r.Failure != "" && v.Outcome == "unknown" {
			continue // the failure states it already
		}
		if r.Matches(p) && v.Outcome != "unknown" {
			continue
		}
		out = append(out, finding{
			run: r, property: english.Clean(string(p)), got: verdictWords(v.Outcome, v.Class), want: expectedWords(r, p),
			reason: english.Clean(v.Reason), facts: verdictFacts(v), because: because(r, p),
			violated: v.Outcome == checker.Violated, expected: r.Matches(p), seeds: seeds,
		})
	}
	if len(out) == 0 && !r.Passed() {
		out = append(out, finding{run: r, property: "run", got: "not as expected", want: "as expected",
			reason: "the results say so without naming a property", seeds: seeds})
	}
	return out
}

// Annotate writes a line for each unexpected verdict, and for each accepted violation
// that no run shows any more. Each line is a command of a workflow of GitHub.
func (d Document) Annotate(w io.Writer) error {
	b := bufio.NewWriter(w)
	m := newMatrix(d)
	for _, f := range m.findings() {
		if f.expected {
			continue
		}
		text := fmt.Sprintf("%s %s, expected %s", f.property, f.got, f.want)
		for _, more := range []string{f.reason, f.alsoWords(), Replay(f.run)} {
			if more != "" {
				text += "\n" + more
			}
		}
		annotate(b, english.Name(f.run.Scenario)+", "+english.Name(f.run.Column()), text)
	}
	for _, g := range d.Results.Gone {
		annotate(b, "accepted violation is gone", english.Clean(g))
	}
	return b.Flush()
}

// annotate writes one command, and keeps both texts inside it.
func annotate(w *bufio.Writer, title, text string) {
	inText := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inTitle := strings.NewReplacer(":", "%3A", ",", "%2C")
	fmt.Fprintf(w, "::error title=%s::%s\n", inTitle.Replace(inText.Replace(title)), inText.Replace(text))
}
