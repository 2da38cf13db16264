package mutation

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/chance"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages/searches"
)

// HTML writes the report as one page: every survivor with its diff, and a map of
// files and operators.
func (r *Report) HTML(w io.Writer) error {
	alive, unreached := len(r.survivors()), 0
	for _, m := range r.survivors() {
		if m.Status == notReached {
			unreached++
		}
	}
	p := searches.Page{
		Heads: searches.Heads{Title: "What survived", Group: "what would kill it", Count: "runs", What: "mutant", Where: "result"},
		Kind:  "mutation", Asked: "Does the harness notice small changes of the locks?", Answer: r.answer(alive, unreached), Tone: searches.Good,
		Command: r.Command, Version: r.Version,
		Numbers: []searches.Number{
			{Value: fmt.Sprintf("%d of %d", r.Killed, r.Played), Label: "killed: a run shows the change", Tone: searches.Some(r.Killed, searches.Good)},
			{Value: fmt.Sprint(alive - unreached), Label: "survived: no run that reaches the change shows it", Tone: searches.Some(alive-unreached, searches.Attention)},
			{Value: fmt.Sprint(unreached), Label: "survived, because no run reaches the change", Tone: searches.Some(unreached, searches.Argued)},
			{Value: fmt.Sprint(r.TimedOut), Label: "timed out, and count in no score", Tone: searches.Some(r.TimedOut, searches.Argued)},
			{Value: r.Score(), Label: "score, without timeouts and those called equivalent"},
			{Value: fmt.Sprintf("%d of %d", r.Played, r.Found), Label: "mutants of the source played"},
		},
		Bound: r.bound(),
	}
	switch {
	case r.Survivors() > 0:
		p.Tone = searches.Attention
	case r.Played < r.Chosen, r.TimedOut > 0:
		p.Tone = searches.Argued
	}
	if r.Played < r.Chosen {
		p.Interrupted = fmt.Sprintf("Interrupted with %d of %d played.", r.Played, r.Chosen)
	}
	some := r.survivors()
	for _, by := range r.remedies(some) {
		g := searches.Group{Title: strings.ReplaceAll(by, "`", "")}
		if by == "" {
			g.Title = "No note explains these yet"
		}
		for _, m := range some {
			if r.notes.takes(m.Mutant) == by {
				g.Rows = append(g.Rows, searches.Cause{Count: m.Runs, What: m.ID, Where: m.result() + ", in " + m.Func, Find: m.ID})
				tone := searches.Attention
				if m.Status == notReached {
					tone = searches.Argued
				}
				p.Finds = append(p.Finds, r.find(m, r.fate(m), tone))
			}
		}
		p.Causes = append(p.Causes, g)
	}
	for _, m := range r.Mutants {
		if m.Status == timedOut {
			p.Finds = append(p.Finds, r.find(m, "timed out in "+m.By, searches.Argued))
		}
	}
	p.Maps = []searches.Map{r.scoreMap()}
	p.Tables = []searches.Table{{Title: "Files", Words: 1, Head: append([]string{"file"}, r.columns()...), Rows: r.table(r.Files)}, {Title: "Operators", Words: 1, Head: append([]string{"operator"}, r.columns()...), Rows: r.table(r.Operators)}}
	p.NotPlayed = r.open()
	return p.HTML(w)
}

func (r *Report) table(rows []Row) [][]string {
	var all [][]string
	for _, row := range rows {
		all = append(all, append([]string{row.Name}, r.cells(row.Counts)...))
	}
	return all
}

// answer states the good result first, and then the bad ones.
func (r *Report) answer(alive, unreached int) string {
	s := fmt.Sprintf("Runs killed %d of %s.", r.Killed, english.Count(r.Played, "mutant"))
	if alive > 0 {
		s += fmt.Sprintf(" %d survived, each a blind spot of the harness: %d in runs that reach the change, and %d because no run reaches it.", alive, alive-unreached, unreached)
	}
	if r.TimedOut > 0 {
		s += fmt.Sprintf(" %d timed out.", r.TimedOut)
	}
	if r.Equivalent > 0 {
		s += fmt.Sprintf(" Notes call %d equivalent.", r.Equivalent)
	}
	return s
}

// result states the fate of a mutant, for a title.
func (m *Result) result() string {
	switch m.Status {
	case notReached:
		return "reached by no run"
	case timedOut:
		return "timed out"
	}
	return "survived"
}

// bound states the range of scores that the sample supports.
func (r *Report) bound() []string {
	killed, of := r.Killed, r.Played-r.TimedOut-r.Equivalent
	if !r.drawn || of == 0 {
		return []string{"This is no sample: the score is that of the mutants that were chosen, and carries over to no others."}
	}
	low, high := chance.Interval(killed, of)
	return []string{fmt.Sprintf("The mutants were drawn from those of the source. With 95 %% confidence the score of all of them is between %.0f %% and %.0f %%.", 100*low, 100*high)}
}

func (r *Report) find(m *Result, fate string, tone searches.Tone) searches.Find {
	f := searches.Find{Key: m.ID, Tone: tone, Title: m.ID + ": " + m.result(), Why: "In " + m.Func + ": " + fate + ".", Texts: []searches.Text{{Body: m.Diff}}}
	f.Command = fmt.Sprintf("holdfast selftest mutation --file %s --operator %s", m.File, m.Operator)
	return f
}

// scoreMap counts the killed mutants of each operator in each file.
func (r *Report) scoreMap() searches.Map {
	m := searches.Map{Title: "Files and operators", Corner: "file", Note: "Killed mutants, of those played. Timeouts do not count, nor do mutants that a note calls equivalent.",
		Legend: []searches.Cell{{Text: "9 of 9", Class: "ok", Title: "good: runs killed all"}, {Text: "7 of 9", Class: "bad", Title: "bad: some survived runs that reach them"},
			{Text: "2 of 9", Class: "hole", Title: "a gap: no run reaches the others"}, {Text: "–", Class: "none", Title: "no such mutant was played"}}}
	for _, o := range r.Operators {
		m.Columns = append(m.Columns, o.Name)
	}
	for _, file := range r.Files {
		row := searches.MapRow{Name: file.Name}
		for _, operator := range m.Columns {
			var c Counts
			unreached := 0
			for _, one := range r.Mutants {
				if one.File == file.Name && one.Operator == operator {
					c.add(one)
					if one.Status == notReached && one.Equivalent == "" {
						unreached++
					}
				}
			}
			of := c.Played - c.TimedOut - c.Equivalent
			cell := searches.Cell{Text: "–", Class: "none"}
			if of > 0 {
				cell = searches.Cell{Text: fmt.Sprintf("%d of %d", c.Killed, of), Class: "bad"}
			}
			switch {
			case of > 0 && c.Killed >= of:
				cell.Class = "ok"
			case of > 0 && c.Killed+unreached >= of:
				cell.Class = "hole"
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// open lists the mutants and runs that the score leaves out.
func (r *Report) open() []string {
	var all []string
	if n := r.Found - r.Chosen; n > 0 {
		all = append(all, english.Count(n, "mutant")+" of the source that were not chosen.")
	}
	if n := r.Chosen - r.Played; n > 0 {
		all = append(all, english.Count(n, "mutant")+" that were chosen and not played.")
	}
	for _, run := range r.Left {
		all = append(all, "A run whose verdicts are not as expected with the original: "+run+".")
	}
	for _, id := range r.Stale {
		all = append(all, "A note calls "+id+" equivalent, and there is no such mutant.")
	}
	for _, id := range r.Wrong {
		all = append(all, "A note calls "+id+" equivalent, and a run killed it.")
	}
	return append(all, "Mistakes of two places at once, and code that is missing.")
}
