package explore

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages/searches"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

// HTML writes the results as one page, with the pictures of the finds whose
// histories are in the directory.
func (p Printed) HTML(w io.Writer) error { return p.page().HTML(w) }

func (p Printed) page() searches.Page {
	distinct := Distinct(p.Causes)
	page := searches.Page{
		Kind: "exploration", Asked: fmt.Sprintf("Does %s break a promise under faults that are drawn at random?", p.Lock),
		Command: p.Command, Version: p.Version, Answer: p.totals(), Tone: searches.Good, Defects: p.Defects,
		Numbers: []searches.Number{
			{Value: fmt.Sprint(p.Runs), Label: "runs played"},
			{Value: fmt.Sprint(p.Violated), Label: "runs broke a promise", Tone: searches.Some(p.Violated, searches.Attention)},
			{Value: fmt.Sprint(len(distinct)), Label: "hazards: different violations, or after different faults", Tone: searches.Some(len(distinct), searches.Attention)},
			{Value: fmt.Sprint(p.Unknown), Label: "runs proved nothing", Tone: searches.Some(p.Unknown, searches.Argued)},
			{Value: span(p.VirtualMS), Label: "of virtual time"},
		},
		Bound: []string{p.bound()},
	}
	switch {
	case p.Violated > 0 || len(p.Defects) > 0:
		page.Tone = searches.Attention
	case p.Runs == p.Unknown:
		page.Tone = searches.Argued
	}
	if p.Interrupted {
		page.Interrupted = "Interrupted: not all runs were played, or not all finds made small."
	}
	for _, group := range byFaults(p.Causes) {
		g := searches.Group{Title: group[0].Least().After()}
		for _, c := range group {
			row := searches.Cause{Count: c.Count, What: c.Least().Violation(), Where: fmt.Sprintf("first with seed %d", c.FirstSeed)}
			if c.Known {
				row.Remark = "known before"
			} else {
				row.Find = c.Key
				page.Finds = append(page.Finds, p.find(c, len(page.Finds) < searches.MostDrawn))
			}
			g.Rows = append(g.Rows, row)
		}
		page.Causes = append(page.Causes, g)
	}
	searches.Largest(page.Causes)
	page.Maps = append(page.Maps, p.coverageMap())
	if len(p.Catalogue) > 0 {
		page.Tables = append(page.Tables, p.recallTable())
	}
	page.NotPlayed = p.open()
	page.Lacks(p.Lacks())
	return page
}

// bound says what the number of runs supports.
func (r Results) bound() string {
	judged := r.Runs - r.Unknown
	if judged == 0 {
		return "No run could be judged, and so the exploration supports nothing."
	}
	one := fmt.Sprintf("1 in %.0f", 1/UpperBound(judged))
	if r.Violated == 0 {
		return fmt.Sprintf("None of %s shows a violation. With 95 %% confidence fewer than %s runs like these has one.", english.Count(judged, "judged run"), one)
	}
	return fmt.Sprintf("%s judged. A hazard that none of them shows comes, with 95 %% confidence, in fewer than %s runs like these.",
		strings.Replace(english.Count(judged, "run")+" were", "1 run were", "1 run was", 1), one)
}

// find describes a cause. Where drawn says so, it has the diagrams of the stored histories.
func (p Printed) find(c Found, drawn bool) searches.Find {
	f := searches.Find{Key: c.Key, Title: english.Upper(c.Least().String()), Tone: searches.Attention}
	scenario, recorded, seed := c.Scenario, c.History, c.FirstSeed
	if s := c.Shrunk; s != nil {
		scenario, recorded, seed = s.Scenario, s.History, s.Seed
		f.Why = english.Upper(s.Reason) + "."
		f.Sizes = searches.Sizes(s.Before, s.Size)
	}
	if scenario != "" {
		f.Command = fmt.Sprintf("holdfast run %s --lock %s --seed %d", p.Dir.Command(scenario), p.Lock, seed)
	}
	if drawn && c.Shrunk != nil {
		p.draw(&f, "The smallest run that shows it", recorded)
		p.draw(&f, fmt.Sprintf("The first run that showed it, seed %d", c.FirstSeed), c.History)
	} else if drawn {
		p.draw(&f, "The first run that showed it", recorded)
	}
	f.Texts = append(f.Texts, p.text("The scenario, as a file", scenario)...)
	if c.Shrunk != nil {
		f.Texts = append(f.Texts, p.text("The full story, with a regression test", c.Shrunk.Story)...)
	}
	return f
}

// text is a file of the directory, or nothing.
func (p Printed) text(title, file string) []searches.Text {
	if file == "" {
		return nil
	}
	body, err := os.ReadFile(p.Dir.File(filepath.FromSlash(file)))
	if err != nil {
		return nil
	}
	return []searches.Text{{Title: title, Body: string(body), Folded: true}}
}

// draw adds the diagram of a stored history to a find, where the history is there.
func (p Printed) draw(f *searches.Find, title, file string) {
	if file == "" {
		return
	}
	h, err := suite.ReadHistory(p.Dir.File(filepath.FromSlash(file)))
	if err != nil {
		return
	}
	run := &results.Run{Scenario: h.Header.Scenario, Lock: p.Lock, Seed: h.Header.Seed}
	if judged, err := checker.Judge(h, checker.Options{}); err == nil {
		run.Verdicts = judged.Verdicts
	}
	f.Draw(title, h, run)
}

// coverageMap says how often each fault struck in which phase.
func (r Results) coverageMap() searches.Map {
	hits, most := r.coverage(), 1
	for _, n := range hits {
		most = max(most, n)
	}
	m := searches.Map{Title: "Where the faults struck", Corner: "fault",
		Note: "How often each fault struck a client in which phase of an operation. A fault that names no client strikes all of them.",
		Legend: []searches.Cell{{Text: "12", Class: "n2", Title: "so often; darker is more often"}, {Text: "never", Class: "hole", Title: "a hole: it could have come, and did not"},
			{Text: "–", Class: "none", Title: "the fault cannot strike in this phase"}}}
	for _, p := range draw.Phases {
		m.Columns = append(m.Columns, string(p))
	}
	m.Columns = append(m.Columns, "runs")
	runs := map[string]int{}
	for _, s := range r.Strikes {
		runs[s.Fault] = s.Runs
	}
	for _, f := range r.Vocabulary.Faults {
		row := searches.MapRow{Name: f}
		for _, p := range draw.Phases {
			n := hits[draw.Cell{Fault: f, Phase: p}]
			c := searches.Cell{Text: fmt.Sprint(n), Class: searches.Shade(n, most), Title: fmt.Sprintf("%s, %s: %s", f, p, english.Count(n, "time"))}
			switch {
			case n > 0:
			case draw.Possible(f, p):
				c.Text, c.Class = "never", "hole"
			default:
				c.Text, c.Class, c.Title = "–", "none", ""
			}
			row.Cells = append(row.Cells, c)
		}
		row.Cells = append(row.Cells, searches.Cell{Text: fmt.Sprint(runs[f]), Class: "none"})
		m.Rows = append(m.Rows, row)
	}
	return m
}

// recallTable is the hazards of the catalogue.
func (r Results) recallTable() searches.Table {
	t := searches.Table{Title: "Hazards of the catalogue", Note: "Which of them came by themselves.", Words: 5, Head: []string{"scenario", "violated", "after", "came", "it takes"}}
	for _, l := range r.Catalogue {
		came, takes := "no", ""
		if i := slices.IndexFunc(r.Causes, func(c Found) bool { return c.Key == l.By }); i >= 0 {
			came, takes = fmt.Sprintf("with seed %d", r.Causes[i].FirstSeed), r.Causes[i].Least().After()
		}
		t.Rows = append(t.Rows, []string{l.Scenario, l.Violation(), l.After(), came, takes})
	}
	return t
}

// open lists the questions that the exploration leaves open.
func (r Results) open() []string {
	var all []string
	if r.Budget > 0 && r.Shard > 0 {
		if n := (suite.Shard{Index: r.Shard, Of: max(r.Of, 1)}).Size(r.Budget) - r.Runs; n > 0 {
			all = append(all, english.Count(n, "run")+" of those asked for.")
		}
	}
	if r.IsShard() {
		all = append(all, fmt.Sprintf("The runs of the other shards: this is shard %d of %d.", r.Shard, r.Of))
	}
	if n := len(r.coverage().Holes(r.Vocabulary.Faults)); n > 0 {
		all = append(all, fmt.Sprintf("%s of a fault and a phase never came: the holes of the map.", english.Count(n, "pair")))
	}
	left := slices.DeleteFunc(draw.Names(), func(f string) bool { return slices.Contains(r.Vocabulary.Faults, f) })
	if len(left) > 0 {
		all = append(all, "Faults that were left out: "+english.And(left)+".")
	}
	if r.Vocabulary.Survivable {
		all = append(all, "Faults that the reference lock cannot survive: lost data, moved clocks, and pauses past a lease.")
	}
	for _, why := range slices.SortedFunc(maps.Keys(r.Reasons), func(a, b string) int { return cmp.Or(r.Reasons[b]-r.Reasons[a], cmp.Compare(a, b)) }) {
		all = append(all, fmt.Sprintf("%s proved nothing: %s.", english.Count(r.Reasons[why], "run"), strings.TrimSuffix(why, ".")))
	}
	return all
}
