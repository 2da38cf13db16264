package pages

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

type Placement struct {
	exhaustive.Results
	Dir suite.Dir `json:"-"` // where they are stored; empty before
}

func (r Placement) HTML(w io.Writer) error { return r.page().writeHTML(w) }

func (r Placement) page() page {
	t := r.Total()
	_, leftOut := r.leftOut()
	what := map[bool]string{true: "pair of faults", false: "single fault"}[r.Depth > 1]
	p := page{
		Kind: "exhaustive placement", Asked: fmt.Sprintf("Which %s, at which moment, makes %s break a promise?", what, r.Lock),
		Command: r.Command, Version: r.Version, Tone: good, Defects: slices.Concat(r.Defects, r.Audit.Differences),
		Answer: fmt.Sprintf("%s in %s: %d broke a promise that the lock could have kept, by %s.",
			english.Count(t.Played, "run"), english.Count(len(r.Bases), "small workload"), t.Violated, english.Count(len(r.Violated), "cause")),
		Numbers: []number{
			{Value: fmt.Sprint(t.Played), Label: "placements played"},
			{Value: fmt.Sprint(t.Violated), Label: "broke a promise", Tone: toneOf(t.Violated, attention)},
			{Value: fmt.Sprint(t.Inherent), Label: "inherent: no lock with these claims could have avoided it", Tone: toneOf(t.Inherent, argued)},
			{Value: fmt.Sprint(t.Unknown), Label: "proved nothing", Tone: toneOf(t.Unknown, argued)},
			{Value: fmt.Sprint(leftOut), Label: "left out by a rule"},
			{Value: english.Span(time.Duration(r.WallMS) * time.Millisecond), Label: "of real time"},
		},
		Bound: []string{fmt.Sprintf("This is no sample: every %s of the vocabulary was placed at every moment of these workloads, unless a rule says that it cannot matter.", what)},
	}
	if r.IsShard() {
		p.Bound = []string{fmt.Sprintf("This is shard %d of %d. All shards together are no sample: they place every %s of the vocabulary at every moment of these workloads, unless a rule says that it cannot matter.", r.Shard, r.Of, what)}
	}
	if n := r.Audit.Played; n > 0 && len(r.Audit.Differences) == 0 {
		p.Bound = append(p.Bound, fmt.Sprintf("The audit played %s that a rule had left out, and found no difference. With 95 %% confidence fewer than 1 in %.0f of those left out would differ.",
			english.Count(n, "placement"), 1/search.UpperBound(n)))
	}
	p.setTone(t.Violated > 0 || len(p.Defects) > 0, t.Played == t.Unknown)
	if r.Interrupted {
		p.Interrupted = "Interrupted: not all placements were played."
	}
	p.Causes = setLargest(slices.Concat(groups(r.Violated, ""), groups(r.Inherent, "inherent")))
	for _, c := range r.Violated {
		if c.Under == "" {
			p.Finds = append(p.Finds, r.find(c, len(p.Finds) < mostDrawn))
		}
	}
	if len(r.Places) > 0 {
		p.Maps = append(p.Maps, r.placesMap())
	}
	rows := r.counts()
	p.Tables = []table{{Title: "Workloads", Words: 1, Head: rows[0], Rows: rows[1:], Note: "Placements that a rule leaves out are not played."}}
	p.NotPlayed = r.open()
	p.addLacks(r.Lacks())
	return p
}

// leftOut counts the placements that each rule leaves out, and all together.
func (r Placement) leftOut() (by map[string]int, sum int) {
	by = map[string]int{}
	for _, b := range r.Bases {
		for rule, n := range b.NotPlayed {
			by[rule] += n
			sum += n
		}
		if n := b.Outlasted; n > 0 {
			by[exhaustive.Outlasts] += n
			sum += n
		}
	}
	return by, sum
}

// groups are the causes, those after the same faults together.
func groups(causes []exhaustive.Cause, remark string) (all []group) {
	for _, same := range search.ByFaults(search.Pointers(causes)) {
		g := group{Title: same[0].Least().After()}
		for _, c := range same {
			row := causeRow{Count: c.Count, What: fmt.Sprintf("%s: %s", c.Property, c.Reason), Where: "mostly " + mostlyAt(*c), Remark: remark}
			switch {
			case remark != "":
			case c.Under != "":
				row.Find, row.Remark = c.Under, "explained by "+c.Under
			default:
				row.Find = c.First
			}
			g.Rows = append(g.Rows, row)
		}
		all = append(all, g)
	}
	return all
}

// find describes a cause. Where drawn says so, it has diagrams of the smallest run
// and of the first.
func (r Placement) find(c exhaustive.Cause, drawn bool) find {
	f := newFind(c.First, fmt.Sprintf("%s after %s", c.Property, c.Least().After()), c.Reason, c.Shrunk)
	source, file := c.Source, c.File
	if c.Shrunk != nil {
		source, file = c.Shrunk.Source, c.Shrunk.Scenario
	}
	if c.When != "" {
		f.Why += " The first such run has a " + c.When + "."
	}
	if drawn && c.Class != search.NeverEnded {
		if c.Shrunk != nil {
			r.draw(&f, smallestRun, source)
		}
		r.draw(&f, firstRun, c.Source)
	}
	if c.Shrunk != nil {
		f.fold(fullStory, c.Shrunk.StoryText)
	}
	f.fold(scenarioFile, source)
	if file != "" {
		f.Command = fmt.Sprintf("holdfast run %s --lock %s --seed %d", r.Dir.Command(file), r.Lock, exhaustive.Seed)
	}
	return f
}

// draw replays a scenario and adds the diagram to a find. The run ends, because it
// ended when a worker played it: one seed gives one history. A scenario that does
// not replay adds nothing.
func (r Placement) draw(f *find, title, source string) {
	a := suite.Answer{Run: results.Run{Lock: r.Lock, World: "sim", Seed: exhaustive.Seed}}
	j := suite.Job{File: "find.yaml", Source: source, Lock: r.Lock, Seed: exhaustive.Seed, Judge: true}
	s, played := a.Play(j, func(run func()) { run() }, j.Simulate)
	if played == nil {
		return
	}
	a.Run.Scenario = s.Name
	f.draw(title, played.History, &a.Run)
}

// placesMap says how the runs ended whose last fault struck at a kind of moment.
func (r Placement) placesMap() heatMap {
	m := heatMap{Title: "Which fault at which moment", Corner: "fault",
		Note: "How many runs had this fault at this kind of moment, and of those, how many broke a promise. With two faults in a run, it is the later one.",
		Legend: []cell{{Text: "3 of 8", Class: "bad", Title: "so many runs broke a promise that the lock could have kept"}, {Text: "2 of 8", Class: "warn", Title: "inherent violations alone"},
			{Text: "8", Class: "ok", Title: "no run broke a promise"}, {Text: "8", Class: "hole", Title: "no run proved anything"}, {Text: "–", Class: "none", Title: "nothing was played there"}}}
	columns := map[string]bool{}
	for _, p := range r.Places {
		columns[p.At] = true
	}
	m.Columns = slices.SortedFunc(maps.Keys(columns), inOrder)
	for i, p := range r.Places {
		if i == 0 || r.Places[i-1].Fault != p.Fault {
			row := mapRow{Name: p.Fault, Cells: make([]cell, len(m.Columns))}
			for k := range row.Cells {
				row.Cells[k] = cell{Text: "–", Class: "none"}
			}
			m.Rows = append(m.Rows, row)
		}
		c := cell{Text: fmt.Sprint(p.Played), Class: "ok", Title: fmt.Sprintf("%s, %s: %s, %d violated, %d inherent, %d proved nothing",
			p.Fault, p.At, english.Count(p.Played, "run"), p.Violated, p.Inherent, p.Unknown)}
		switch {
		case p.Violated > 0:
			c.Text, c.Class = fmt.Sprintf("%d of %d", p.Violated, p.Played), "bad"
		case p.Inherent > 0:
			c.Text, c.Class = fmt.Sprintf("%d of %d", p.Inherent, p.Played), "warn"
		case p.Unknown == p.Played:
			c.Class = "hole"
		}
		m.Rows[len(m.Rows)-1].Cells[slices.Index(m.Columns, p.At)] = c
	}
	return m
}

// inOrder orders kinds of moments as operations go through them.
func inOrder(a, b string) int {
	at := func(phase string) int {
		moment, op, _ := strings.Cut(phase, " ")
		switch {
		case moment == faults.Granted || moment == faults.Refused || moment == faults.Published || moment == faults.Delivered:
			op = "acquire"
		case moment == faults.Released:
			op = "release"
		}
		return 100*slices.Index([]string{"acquire", "background", "inspect", "", "release"}, op) +
			slices.Index([]string{faults.Invoked, faults.Received, faults.Executed, faults.Answered, faults.Granted, faults.Refused, faults.Released}, moment)
	}
	return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
}

// open lists the questions that the placements leave open.
func (r Placement) open() []string {
	var all []string
	rules, _ := r.leftOut()
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if rules[rule] > 0 {
			all = append(all, fmt.Sprintf("%s left out by a rule: %s.", english.Count(rules[rule], "placement"), rule))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(r.Unknown)) {
		all = append(all, fmt.Sprintf("%s proved nothing: %s.", english.Count(r.Unknown[why], "run"), strings.TrimSuffix(why, ".")))
	}
	if r.IsShard() {
		all = append(all, fmt.Sprintf("The placements of the other shards: this is shard %d of %d.", r.Shard, r.Of))
	}
	all = append(all, english.Words(r.NotCovered, func(what string) string { return english.Upper(what) + "." })...)
	return append(all, "Durations of faults other than: "+strings.Join(r.Durations, "; ")+".")
}
