package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/pages/searches"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

// HTML writes the record as one page: each mutant with what killed it, and a map
// of mutants and properties.
func (r *TrackRecord) HTML(w io.Writer) error {
	s := r.Summary
	p := searches.Page{
		Kind: "gallery", Asked: "Does the catalogue kill locks that are wrong on purpose?", Answer: r.sentence(), Tone: searches.Good,
		Command: r.Command, Version: r.Version, Defects: r.Defects,
		Numbers: []searches.Number{
			{Value: fmt.Sprintf("%d of %d", s.Killed, s.Mutants), Label: "mutants killed: a verdict shows the mistake", Tone: searches.Some(s.Killed, searches.Good)},
			{Value: fmt.Sprint(s.Survived), Label: "survived: no verdict shows the mistake", Tone: searches.Some(s.Survived, searches.Attention)},
			{Value: fmt.Sprint(s.Runs), Label: "runs played"},
			{Value: span(r.WallMS), Label: "of real time"},
		},
		Bound: []string{"People chose the mutants, so the score does not carry over to other mistakes."},
	}
	if s.Survived > 0 {
		p.Answer += fmt.Sprintf(" The harness missed %s.", english.Count(s.Survived, "mutant"))
	}
	if s.Survived > 0 || len(r.Defects) > 0 {
		p.Tone = searches.Attention
	} else if s.Killed < s.Mutants {
		p.Tone, p.Interrupted = searches.Argued, "Interrupted: not all trials are over."
	}
	m := mutantMap("How many scenarios kill each mutant with each property. A scenario counts where it expects the original to keep the property.",
		"so many scenarios kill it with this property", "killed", Survived)
	for class, cause := range gallery.Causes {
		t := searches.Table{Title: fmt.Sprintf("Class %d: %s", class, cause), Words: 2, Head: []string{"mutant", "killed by", "others", "seeds", "virtual time", "real time"}}
		for _, row := range r.Mutants {
			if row.Class != class {
				continue
			}
			t.Rows = append(t.Rows, append([]string{row.Name}, row.cells()...))
			m.Rows = append(m.Rows, row.killed())
			for _, u := range row.Unknown {
				p.NotPlayed = append(p.NotPlayed, fmt.Sprintf("%s: %s came out unknown, which kills nothing.", row.Name, u))
			}
			if row.Status != killed {
				p.Finds = append(p.Finds, alive(row.Name, row.Of, row.Mistake, row.Shipped, row.Status))
				p.Finds[len(p.Finds)-1].Why += " " + row.bound()
			}
		}
		if t.Rows != nil {
			p.Tables = append(p.Tables, t)
		}
	}
	p.Maps = []searches.Map{m}
	p.NotPlayed = append(p.NotPlayed, noVerdict(r.NoVerdict)...)
	p.NotPlayed = append(p.NotPlayed, "Mistakes that the gallery does not have: docs/mutation.md is about changes of the locks by rule.")
	return p.HTML(w)
}

// bound states what the survival of a mutant proves.
func (m MutantRow) bound() string {
	if m.Passes == 0 {
		return "No pass over the scenarios was played."
	}
	return fmt.Sprintf("It survived %s over the scenarios: with 95 %% confidence a pass kills it with a probability below %.0f %%.", english.Count(m.Passes, "seed"), 100*explore.UpperBound(m.Passes))
}

// killed is the row of a mutant in the map.
func (m MutantRow) killed() searches.MapRow {
	in := map[checker.Property][]string{}
	for _, k := range m.Killers {
		in[k.Property] = append(in[k.Property], k.Scenario)
	}
	row := searches.MapRow{Name: m.Name}
	for _, p := range checker.Properties() {
		c := searches.Cell{Text: "–", Class: "none"}
		if n := len(in[p.Name]); n > 0 {
			c = searches.Cell{Text: fmt.Sprint(n), Class: searches.Shade(n, 0), Title: fmt.Sprintf("%s kills %s in %s", p.Name, m.Name, english.And(in[p.Name]))}
		}
		row.Cells = append(row.Cells, c)
	}
	return withStatus(row, m.Status)
}

// withStatus appends the result of the mutant to a row.
func withStatus(row searches.MapRow, status string) searches.MapRow {
	c := searches.Cell{Text: status, Class: "hole"}
	switch status {
	case killed:
		c = searches.Cell{Text: "killed", Class: "ok"}
	case found:
		c.Class = "ok"
	case Survived, NotFound:
		c.Class = "bad"
	}
	row.Cells = append(row.Cells, c)
	return row
}

// mutantMap is an empty map of mutants and properties. The legend explains its
// numbers, and the result of a mutant that the harness noticed or missed.
func mutantMap(note, number, noticed, missed string) searches.Map {
	m := searches.Map{Title: "Mutants and properties", Corner: "mutant", Note: note, Legend: []searches.Cell{
		{Text: "3", Class: "n2", Title: number}, {Text: "–", Class: "none", Title: "not with this property"},
		{Text: noticed, Class: "ok", Title: "good: the harness noticed the mistake"}, {Text: missed, Class: "bad", Title: "bad: the harness missed the mistake"},
		{Text: unfinished, Class: "hole", Title: "open: not all trials were played"}}}
	for _, p := range checker.Properties() {
		m.Columns = append(m.Columns, string(p.Name))
	}
	m.Columns = append(m.Columns, "result")
	return m
}

// alive describes a mutant that no run killed.
func alive(name, of, mistake, shipped, status string) searches.Find {
	f := searches.Find{Key: name, Tone: searches.Attention, Title: fmt.Sprintf("%s, made from %s: %s", name, of, status), Why: strings.TrimSuffix(mistake, ".") + "."}
	if shipped != "" {
		f.Why += " Shipped: " + strings.TrimSuffix(shipped, ".") + "."
	}
	if status == unfinished {
		f.Tone = searches.Argued
	}
	return f
}

// noVerdict describes runs that ended without a verdict.
func noVerdict(all []string) []string {
	var some []string
	for _, s := range all {
		some = append(some, "No verdict: "+strings.TrimSuffix(s, ".")+".")
	}
	return some
}

// HTML writes the record as one page: each mutant with what exploration found.
func (r *SearchRecord) HTML(w io.Writer) error {
	s := r.Summary
	p := searches.Page{
		Heads: searches.Heads{Title: "How exploration found each mutant", Group: "mutant", Count: "trials"}, Kind: "gallery", Asked: "Does random exploration find locks that are wrong on purpose?", Answer: r.sentence(), Tone: searches.Good,
		Command: r.Command, Version: r.Version, Defects: r.Defects,
		Numbers: []searches.Number{
			{Value: fmt.Sprintf("%d of %d", s.Found, s.Mutants), Label: "mutants found: a trial shows the mistake", Tone: searches.Some(s.Found, searches.Good)},
			{Value: fmt.Sprint(s.NotFound), Label: "missed: no trial shows the mistake", Tone: searches.Some(s.NotFound, searches.Attention)},
			{Value: fmt.Sprint(s.Runs), Label: "runs played"},
			{Value: span(r.WallMS), Label: "of real time"},
		},
		Bound: []string{"People chose the mutants, so the share does not carry over to other mistakes."},
	}
	if s.NotFound > 0 {
		p.Answer += fmt.Sprintf(" Exploration missed %s.", english.Count(s.NotFound, "mutant"))
	}
	if s.NotFound > 0 || len(r.Defects) > 0 {
		p.Tone = searches.Attention
	} else if s.Found < s.Mutants {
		p.Tone, p.Interrupted = searches.Argued, "Interrupted: not all trials are over."
	}
	m := mutantMap("Each number counts the trials whose first find violates that property.", "so many trials find it with this property", found, NotFound)
	t := searches.Table{Title: "Mutants", Words: 5, Head: []string{"mutant", "of", "trials", "median runs", "found by"}}
	for _, row := range r.Mutants {
		t.Rows = append(t.Rows, append([]string{row.Name, row.Of}, row.cells()...))
		cells := searches.MapRow{Name: row.Name}
		for _, property := range checker.Properties() {
			n := 0
			for _, c := range row.Causes {
				if c.Property == property.Name {
					n += c.Trials
				}
			}
			c := searches.Cell{Text: "–", Class: "none"}
			if n > 0 {
				c = searches.Cell{Text: fmt.Sprint(n), Class: searches.Shade(n, 0)}
			}
			cells.Cells = append(cells.Cells, c)
		}
		m.Rows = append(m.Rows, withStatus(cells, row.Status))
		group := searches.Group{Title: row.Name, Tone: searches.Good}
		for _, c := range row.Causes {
			group.Rows = append(group.Rows, searches.Cause{Count: c.Trials, What: c.Violation(), Where: "after " + c.After()})
		}
		if row.Status != found {
			f := alive(row.Name, row.Of, row.Mistake, "", row.Status)
			if n := row.played(); n > 0 && row.Status == NotFound {
				f.Why += fmt.Sprintf(" %s show nothing: with 95 %% confidence fewer than 1 in %.0f does.", english.Count(n, "run"), 1/explore.UpperBound(n))
			}
			p.Finds = append(p.Finds, f)
		} else {
			p.Causes = append(p.Causes, group)
		}
	}
	searches.Largest(p.Causes)
	p.Maps, p.Tables = []searches.Map{m}, []searches.Table{t}
	p.NotPlayed = noVerdict(r.NoVerdict)
	return p.HTML(w)
}

// played counts the runs of all trials.
func (m SearchRow) played() int {
	n := 0
	for _, t := range m.Trials {
		n += t.Runs
	}
	return n
}

// HTML writes the tally as one page.
func (t *Tally) HTML(w io.Writer) error {
	p := searches.Page{
		Heads: searches.Heads{Title: "Verdicts that are not as expected", Group: "kind", Count: "seeds", What: "verdict"},
		Kind:  "variations", Asked: "Do the judges give the right verdicts when the numbers of a scenario change?", Answer: t.sentence(), Tone: searches.Good,
		Command: t.Command, Version: t.Version, Defects: t.Defects,
		Numbers: []searches.Number{
			{Value: fmt.Sprint(t.Runs), Label: "variations played, one for each seed"},
			{Value: fmt.Sprint(t.Verdicts), Label: "verdicts"},
			{Value: fmt.Sprint(t.FalseAlarms), Label: "false alarms", Tone: searches.Some(t.FalseAlarms, searches.Attention)},
			{Value: fmt.Sprint(t.Missed), Label: "missed violations", Tone: searches.Some(t.Missed, searches.Attention)},
			{Value: fmt.Sprint(t.Unknown), Label: "unknown", Tone: searches.Some(t.Unknown, searches.Argued)},
		},
	}
	wrong := t.FalseAlarms + t.Missed
	switch {
	case wrong > 0 || len(t.Defects) > 0:
		p.Tone = searches.Attention
	case t.Unknown > 0 || t.Runs == 0:
		p.Tone = searches.Argued
	}
	if t.Runs < t.Seeds {
		p.Interrupted = fmt.Sprintf("Interrupted after %d of %s.", t.Runs, english.Count(t.Seeds, "seed"))
	}
	if wrong == 0 && t.Runs > 0 {
		p.Bound = append(p.Bound, fmt.Sprintf("No verdict of %s is wrong. With 95 %% confidence fewer than 1 in %.0f such seeds gives a wrong one.", english.Count(t.Runs, "seed"), 1/explore.UpperBound(t.Runs)))
	}
	for _, kind := range []string{falseAlarm, missed, unknown} {
		g := searches.Group{Title: english.Upper(kind)}
		if kind == unknown {
			g.Tone = searches.Argued
		}
		for _, s := range t.Surprises {
			what := fmt.Sprintf("%s of %s in %s", s.Property, s.Lock, s.Scenario)
			if i := slices.IndexFunc(g.Rows, func(c searches.Cause) bool { return c.What == what }); s.Kind == kind && i >= 0 {
				g.Rows[i].Count++
			} else if s.Kind == kind {
				g.Rows = append(g.Rows, searches.Cause{Count: 1, What: what, Where: fmt.Sprintf("first with seed %d", s.Seed), Find: s.key()})
			}
		}
		if g.Rows != nil {
			p.Causes = append(p.Causes, g)
		}
	}
	searches.Largest(p.Causes)
	for _, g := range p.Causes {
		for _, c := range g.Rows {
			p.Finds = append(p.Finds, t.surprise(c.Find))
		}
	}
	p.Maps = []searches.Map{t.verdictMap()}
	p.NotPlayed = t.open()
	return p.HTML(w)
}

func (s Surprise) key() string { return fmt.Sprintf("seed-%d-%s", s.Seed, s.Property) }

// surprise describes the find with a key.
func (t *Tally) surprise(key string) searches.Find {
	s := t.Surprises[slices.IndexFunc(t.Surprises, func(s Surprise) bool { return s.key() == key })]
	f := searches.Find{Key: key, Tone: searches.Attention, Title: fmt.Sprintf("%s with seed %d: %s of %s in %s", english.Upper(s.Kind), s.Seed, s.Property, s.Lock, s.Scenario),
		Why:     fmt.Sprintf("It is %s, and the scenario argues for %s. %s", verdictWords(s.Verdict.Outcome, s.Verdict.Class), verdictWords(s.Expected, s.Class), english.Upper(s.Verdict.Reason)),
		Command: fmt.Sprintf("holdfast selftest vary %s --lock %s --seed %d --seeds 1 --out found", s.File, s.Lock, s.Seed)}
	if s.Kind == unknown {
		f.Tone = searches.Argued
	}
	return f
}

// verdictMap counts the verdicts on each property.
func (t *Tally) verdictMap() searches.Map {
	m := searches.Map{Title: "Properties and verdicts", Corner: "property", Columns: []string{"ok, as expected", "violated, as expected", "false alarms", "missed", "unknown"},
		Note:   "How many verdicts the judges gave on each property. A judge that saw no violation has shown only that it raises no false alarm.",
		Legend: []searches.Cell{{Text: "120", Class: "ok", Title: "as expected"}, {Text: "3", Class: "bad", Title: "not as expected"}, {Text: "none", Class: "hole", Title: "no run shows this verdict"}}}
	cell := func(n int, class string, hole bool) searches.Cell {
		switch {
		case n > 0:
			return searches.Cell{Text: fmt.Sprint(n), Class: class}
		case hole:
			return searches.Cell{Text: "none", Class: "hole"}
		}
		return searches.Cell{Text: "0", Class: "none"}
	}
	for _, r := range t.Property {
		m.Rows = append(m.Rows, searches.MapRow{Name: string(r.Property), Cells: []searches.Cell{
			cell(r.OK, "ok", true), cell(r.Violated, "ok", true), cell(r.FalseAlarms, "bad", false), cell(r.Missed, "bad", false), cell(r.Unknown, "warn", false)}})
	}
	return m
}

// open lists what the variations leave open.
func (t *Tally) open() []string {
	var all []string
	if n := t.Seeds - t.Runs; n > 0 {
		all = append(all, english.Count(n, "seed")+" of those asked for.")
	}
	if t.Skipped > 0 {
		all = append(all, fmt.Sprintf("%s of a scenario and a lock that do not go together.", english.Count(t.Skipped, "pair")))
	}
	if pairs := t.Scenarios*t.Locks - t.Skipped; t.Runs < pairs {
		all = append(all, fmt.Sprintf("The seeds take turns through %s of a scenario and a lock: at least %d had none.", english.Count(pairs, "pair"), pairs-t.Runs))
	}
	return append(all, "Faults, victims and moments other than those of the scenarios: holdfast explore draws them.")
}
