package mutation

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/chance"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/searches"
)

// HTML writes the report as one page: every survivor with its diff, and a map of
// files and operators.
func (r *Report) HTML(w io.Writer) error {
	p := searches.Page{
		By: "what it takes", Kind: "mutation", Asked: "Which small changes of the locks does no run tell from the original?", Answer: r.sentence(), Tone: searches.Good,
		Command: r.Command, Version: r.Version,
		Numbers: []searches.Number{
			{Value: r.Score(), Label: "killed, without timeouts and those called equivalent"},
			{Value: r.Raw(), Label: "killed, without timeouts"},
			{Value: fmt.Sprint(r.Survivors()), Label: "survivors that nobody calls equivalent", Tone: searches.Some(r.Survivors(), searches.Attention)},
			{Value: fmt.Sprint(r.NotReached), Label: "reached by no run", Tone: searches.Some(r.NotReached, searches.Argued)},
			{Value: fmt.Sprintf("%d of %d", r.Played, r.Found), Label: "mutants played"},
		},
		Bound: r.bound(),
	}
	switch {
	case r.Survivors() > 0:
		p.Tone = searches.Attention
	case r.Played < r.Chosen:
		p.Tone = searches.Argued
	}
	if r.Played < r.Chosen {
		p.Interrupted = fmt.Sprintf("Interrupted with %d of %d played.", r.Played, r.Chosen)
	}
	some := r.survivors()
	for _, by := range r.remedies(some) {
		g := searches.Group{Title: strings.ReplaceAll(by, "`", "")}
		if by == "" {
			g.Title = "Nobody has looked at these yet"
		}
		for _, m := range some {
			if r.notes.takes(m.Mutant) == by {
				g.Rows = append(g.Rows, searches.Cause{Count: m.Runs, What: m.ID, Where: "in " + m.Func, Find: m.ID})
				p.Finds = append(p.Finds, r.find(m, r.fate(m), searches.Attention))
			}
		}
		p.Causes = append(p.Causes, g)
	}
	searches.Largest(p.Causes)
	for _, m := range r.Mutants {
		if m.Status == timedOut {
			p.Finds = append(p.Finds, r.find(m, "timed out in "+m.By, searches.Argued))
		}
	}
	p.Maps = []searches.Map{r.scoreMap()}
	p.Tables = []searches.Table{{Title: "Files", Words: 1, Head: append([]string{"file"}, columns...), Rows: table(r.Files)}, {Title: "Operators", Words: 1, Head: append([]string{"operator"}, columns...), Rows: table(r.Operators)}}
	p.NotPlayed = r.open()
	return p.HTML(w)
}

func table(rows []Row) [][]string {
	var all [][]string
	for _, row := range rows {
		all = append(all, append([]string{row.Name}, row.cells()...))
	}
	return all
}

// bound says what the score supports.
func (r *Report) bound() []string {
	killed, of := r.Killed, r.Played-r.TimedOut-r.Equivalent
	if !r.drawn || of == 0 {
		return []string{"This is no sample: the score is that of the mutants that were chosen, and carries over to no others."}
	}
	low, high := chance.Interval(killed, of)
	return []string{fmt.Sprintf("The mutants were drawn from those of the source. With 95 %% confidence the score of all of them is between %.0f %% and %.0f %%.", 100*low, 100*high)}
}

func (r *Report) find(m *Result, fate string, tone searches.Tone) searches.Find {
	f := searches.Find{Key: m.ID, Tone: tone, Title: m.ID, Why: "In " + m.Func + ": " + fate + ".", Texts: []searches.Text{{Body: m.Diff}}}
	f.Command = fmt.Sprintf("holdfast selftest mutation --file %s --operator %s", m.File, m.Operator)
	return f
}

// scoreMap says how many mutants of each operator were killed in each file.
func (r *Report) scoreMap() searches.Map {
	m := searches.Map{Title: "Files and operators", Corner: "file", Note: "How many mutants that nobody calls equivalent were killed, of those played.",
		Legend: []searches.Cell{{Text: "9", Class: "ok", Title: "all were killed"}, {Text: "7 of 9", Class: "bad", Title: "some survived"}, {Text: "–", Class: "none", Title: "there is no such mutant"}}}
	for _, o := range r.Operators {
		m.Columns = append(m.Columns, o.Name)
	}
	for _, file := range r.Files {
		row := searches.MapRow{Name: file.Name}
		for _, operator := range m.Columns {
			var c Counts
			for _, one := range r.Mutants {
				if one.File == file.Name && one.Operator == operator {
					c.add(one)
				}
			}
			of := c.Played - c.TimedOut - c.Equivalent
			cell := searches.Cell{Text: "–", Class: "none"}
			switch {
			case of > 0 && c.Killed >= of:
				cell = searches.Cell{Text: fmt.Sprint(c.Killed), Class: "ok"}
			case of > 0:
				cell = searches.Cell{Text: fmt.Sprintf("%d of %d", c.Killed, of), Class: "bad"}
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// open is what the mutants leave open.
func (r *Report) open() []string {
	var all []string
	if n := r.Found - r.Chosen; n > 0 {
		all = append(all, english.Count(n, "mutant")+" of the source that were not chosen.")
	}
	if n := r.Chosen - r.Played; n > 0 {
		all = append(all, english.Count(n, "mutant")+" that were chosen and not played.")
	}
	for _, run := range r.Left {
		all = append(all, "A run that is not as expected with the original: "+run+".")
	}
	for _, id := range r.Stale {
		all = append(all, id+" is called equivalent, and there is no such mutant.")
	}
	for _, id := range r.Wrong {
		all = append(all, id+" is called equivalent, and was killed.")
	}
	return append(all, "Mistakes of two places at once, and code that is missing.")
}
