package pages

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
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
)

// HTML writes the results as one page, with the pictures of the finds whose
// histories are in the directory.
func (p Exploration) HTML(w io.Writer) error { return p.page().writeHTML(w) }

func (p Exploration) page() page {
	distinct := explore.Distinct(p.Causes)
	page := page{
		Kind: "exploration", Asked: fmt.Sprintf("Does %s break a promise under faults that are drawn at random?", p.Lock),
		Command: p.Command, Version: p.Version, Answer: p.Totals(), Tone: good, Defects: p.Defects,
		Numbers: []number{
			{Value: fmt.Sprint(p.Runs), Label: "runs played"},
			{Value: fmt.Sprint(p.Violated), Label: "runs broke a promise", Tone: toneOf(p.Violated, attention)},
			{Value: fmt.Sprint(len(distinct)), Label: "hazards: different violations, or after different faults", Tone: toneOf(len(distinct), attention)},
			{Value: fmt.Sprint(p.Unknown), Label: "runs proved nothing", Tone: toneOf(p.Unknown, argued)},
			{Value: explore.Span(p.VirtualMS), Label: "of virtual time"},
		},
		Bound: []string{p.bound()},
	}
	page.setTone(p.Violated > 0 || len(p.Defects) > 0, p.Runs == p.Unknown)
	if p.Interrupted {
		page.Interrupted = "Interrupted: not all runs were played, or not all finds made small."
	}
	for _, same := range search.ByFaults(search.Pointers(distinct)) {
		g := group{Title: same[0].Least().After()}
		for _, c := range same {
			row := causeRow{Count: c.Count, What: c.Least().Violation(), Where: fmt.Sprintf("first with seed %d", c.FirstSeed)}
			if c.Known {
				row.Remark = "known before"
			} else {
				row.Find = c.Key
				page.Finds = append(page.Finds, p.find(*c, len(page.Finds) < mostDrawn))
			}
			g.Rows = append(g.Rows, row)
		}
		page.Causes = append(page.Causes, g)
	}
	setLargest(page.Causes)
	page.Maps = append(page.Maps, p.coverageMap())
	if rows, _ := p.recalled(); len(rows) > 1 {
		page.Tables = append(page.Tables, table{Title: "Hazards of the catalogue", Note: "Which of them came by themselves.", Words: 5, Head: rows[0], Rows: rows[1:]})
	}
	page.NotPlayed = p.open()
	page.addLacks(p.Lacks())
	return page
}

// bound says what the number of runs supports.
func (r Exploration) bound() string {
	judged := r.Runs - r.Unknown
	if judged == 0 {
		return "No run could be judged, and so the exploration supports nothing."
	}
	one := fmt.Sprintf("1 in %.0f", 1/search.UpperBound(judged))
	if r.Violated == 0 {
		return fmt.Sprintf("None of %s shows a violation. With 95 %% confidence fewer than %s runs like these has one.", english.Count(judged, "judged run"), one)
	}
	return fmt.Sprintf("%s judged. A hazard that none of them shows comes, with 95 %% confidence, in fewer than %s runs like these.",
		strings.Replace(english.Count(judged, "run")+" were", "1 run were", "1 run was", 1), one)
}

// find describes a cause. Where drawn says so, it has the diagrams of the stored histories.
func (p Exploration) find(c explore.Found, drawn bool) find {
	f := newFind(c.Key, c.Least().String(), "", c.Shrunk)
	scenario, seed := c.Scenario, c.FirstSeed
	if s := c.Shrunk; s != nil {
		scenario, seed = s.Scenario, s.Seed
	}
	if scenario != "" {
		f.Command = fmt.Sprintf("holdfast run %s --lock %s --seed %d", p.Dir.Command(scenario), p.Lock, seed)
	}
	if drawn && c.Shrunk != nil {
		p.draw(&f, smallestRun, c.Shrunk.History)
		p.draw(&f, fmt.Sprintf("%s, seed %d", firstRun, c.FirstSeed), c.History)
	} else if drawn {
		p.draw(&f, firstRun, c.History)
	}
	f.fold(scenarioFile, p.read(scenario))
	if c.Shrunk != nil {
		f.fold(fullStory, p.read(c.Shrunk.Story))
	}
	return f
}

// read reads a file of the directory; empty if it is not there.
func (p Exploration) read(file string) string {
	if file == "" {
		return ""
	}
	body, err := os.ReadFile(p.Dir.File(filepath.FromSlash(file)))
	if err != nil {
		return ""
	}
	return string(body)
}

// SARIF writes the finds whose histories are in the directory, as a report of runs does.
func (p Exploration) SARIF(w io.Writer) error {
	doc := reports.Document{Results: results.Results{Version: p.Version}}
	identities := map[string]string{} // by scenario
	for _, c := range explore.Finds(p.Causes) {
		scenario, file, seed := c.Scenario, c.History, c.FirstSeed
		if s := c.Shrunk; s != nil {
			scenario, file, seed = s.Scenario, s.History, s.Seed
		}
		run, h := p.judged(file)
		s, err := scenarios.Load(p.Dir.File(filepath.FromSlash(scenario)))
		if run == nil || err != nil {
			continue
		}
		prop := c.Least().Property
		identities[scenario] = report.Identity(s, h, run.Verdicts, prop)
		run.Scenario, run.File, run.Seed, run.World = scenario, p.Dir.File(filepath.FromSlash(scenario)), seed, "sim"
		run.Verdicts = map[checker.Property]checker.Verdict{prop: run.Verdicts[prop]}
		run.Expected = map[checker.Property]checker.Outcome{prop: checker.OutcomeOK}
		doc.Results.Runs = append(doc.Results.Runs, *run)
	}
	doc.Identity = func(r results.Run, _ checker.Property) string { return identities[r.Scenario] }
	return doc.SARIF(w)
}

// judged reads a stored history and judges it; nil where it is not there.
func (p Exploration) judged(file string) (*results.Run, *history.History) {
	if file == "" {
		return nil, nil
	}
	h, err := suite.ReadHistory(p.Dir.File(filepath.FromSlash(file)))
	if err != nil {
		return nil, nil
	}
	run := &results.Run{Scenario: h.Header.Scenario, Lock: p.Lock, Seed: h.Header.Seed}
	if judged, err := checker.Judge(h, checker.Options{}); err == nil {
		run.Verdicts = judged.Verdicts
	}
	return run, h
}

// draw adds the diagram of a stored history to a find, where the history is there.
func (p Exploration) draw(f *find, title, file string) {
	if run, h := p.judged(file); run != nil {
		f.draw(title, h, run)
	}
}

// coverageMap says how often each fault struck in which phase.
func (r Exploration) coverageMap() heatMap {
	hits, most := r.Hits(), 1
	for _, n := range hits {
		most = max(most, n)
	}
	m := heatMap{Title: "Where the faults struck", Corner: "fault",
		Note: "How often each fault struck a client in which phase of an operation. A fault that names no client strikes all of them.",
		Legend: []cell{{Text: "12", Class: "n2", Title: "so often; darker is more often"}, {Text: "never", Class: "hole", Title: "a hole: it could have come, and did not"},
			{Text: "–", Class: "none", Title: "the fault cannot strike in this phase"}}}
	m.Columns = append(english.Words(draw.Phases, func(p draw.Phase) string { return string(p) }), "runs")
	runs := map[string]int{}
	for _, s := range r.Strikes {
		runs[s.Fault] = s.Runs
	}
	for _, f := range r.Vocabulary.Faults {
		row := mapRow{Name: f}
		for _, p := range draw.Phases {
			n := hits[draw.Cell{Fault: f, Phase: p}]
			c := cell{Text: fmt.Sprint(n), Class: shade(n, most), Title: fmt.Sprintf("%s, %s: %s", f, p, english.Count(n, "time"))}
			switch {
			case n > 0:
			case draw.Possible(f, p):
				c.Text, c.Class = "never", "hole"
			default:
				c.Text, c.Class, c.Title = "–", "none", ""
			}
			row.Cells = append(row.Cells, c)
		}
		row.Cells = append(row.Cells, cell{Text: fmt.Sprint(runs[f]), Class: "none"})
		m.Rows = append(m.Rows, row)
	}
	return m
}

// open lists the questions that the exploration leaves open.
func (r Exploration) open() []string {
	var all []string
	if r.Budget > 0 && r.Shard > 0 {
		if n := (suite.Shard{Index: r.Shard, Of: max(r.Of, 1)}).Size(r.Budget) - r.Runs; n > 0 {
			all = append(all, english.Count(n, "run")+" of those asked for.")
		}
	}
	if r.IsShard() {
		all = append(all, fmt.Sprintf("The runs of the other shards: this is shard %d of %d.", r.Shard, r.Of))
	}
	if n := len(r.Hits().Holes(r.Vocabulary.Faults)); n > 0 {
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
