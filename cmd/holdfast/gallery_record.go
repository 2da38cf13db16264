package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/subject/gallery"
)

// trackRecord is what the hunts have shown, and the JSON that is printed of
// it.
type trackRecord struct {
	Schema  string        `json:"schema"`
	Version string        `json:"version"`
	Command string        `json:"command"`
	Mutants []mutantRow   `json:"mutants"`
	Summary galleryCounts `json:"summary"`
	Defects []string      `json:"defects,omitempty"`
	// NoVerdict are the runs that never ended or took their process down.
	NoVerdict []string `json:"no_verdict,omitempty"`
	WallMS    float64  `json:"wall_ms"` // of everything, on all cores
}

// galleryCounts sums up.
type galleryCounts struct {
	Mutants  int `json:"mutants"`
	Caught   int `json:"caught"`
	Survived int `json:"survived"`
	// KillRate is left out when some hunts are not over.
	KillRate *float64 `json:"kill_rate,omitempty"`
	Runs     int      `json:"runs"`
}

// mutantRow is what is known of one mutant.
type mutantRow struct {
	Name     string     `json:"name"`
	Of       string     `json:"of"`
	Class    int        `json:"class"`
	Cause    string     `json:"cause"`
	Mistake  string     `json:"mistake"`
	Shipped  string     `json:"shipped"`
	Status   string     `json:"status"` // "caught", "survived" or "unfinished"
	Passes   int        `json:"passes"` // over the scenarios, in all trials
	Runs     int        `json:"runs"`
	Catchers []catchRow `json:"caught_by"`
	// Seeds, VirtualMS and WallMS are the medians of the trials until the
	// first catch; Seeds is 0 when most trials had none.
	Seeds     int      `json:"median_seeds"`
	VirtualMS float64  `json:"median_virtual_ms"`
	WallMS    float64  `json:"median_wall_ms"`
	Trials    []*trial `json:"trials"`
	Unknown   []string `json:"unknown,omitempty"` // verdicts that were to be ok
}

// catchRow is what caught a mutant, and in how many passes.
type catchRow struct {
	Scenario string           `json:"scenario"`
	Property checker.Property `json:"property"`
	Passes   int              `json:"passes"`
}

const (
	caught     = "caught"
	survived   = "survived"
	unfinished = "unfinished"
)

func newRecord(hunts []*hunt, command string) *trackRecord {
	r := &trackRecord{Schema: "holdfast-gallery/1", Version: version, Command: command, Mutants: []mutantRow{}}
	for _, h := range hunts {
		m := h.row()
		r.Mutants = append(r.Mutants, m)
		r.Summary.Mutants++
		r.Summary.Runs += m.Runs
		switch m.Status {
		case caught:
			r.Summary.Caught++
		case survived:
			r.Summary.Survived++
		}
		r.Defects = append(r.Defects, h.defects...)
		r.NoVerdict = append(r.NoVerdict, h.noVerdict...)
	}
	if s := &r.Summary; s.Mutants > 0 && s.Caught+s.Survived == s.Mutants {
		rate := float64(s.Caught) / float64(s.Mutants)
		s.KillRate = &rate
	}
	return r
}

func (h *hunt) row() mutantRow {
	m := mutantRow{
		Name: h.mutant.Name, Of: h.mutant.Of, Class: h.mutant.Class, Cause: gallery.Causes[h.mutant.Class],
		Mistake: h.mutant.Mistake, Shipped: h.mutant.Shipped, Status: unfinished,
		Passes: h.passes, Runs: h.passes * len(h.list), Catchers: []catchRow{}, Trials: h.trials,
	}
	for _, c := range h.ordered(h.caught) {
		m.Catchers = append(m.Catchers, catchRow{c.scenario, c.property, h.caught[c]})
	}
	for _, c := range h.ordered(h.unknown) {
		m.Unknown = append(m.Unknown, c.String())
	}
	if len(m.Catchers) > 0 {
		m.Status = caught
	} else if !slices.ContainsFunc(h.trials, func(t *trial) bool { return !t.done() }) {
		m.Status = survived
	}
	over := slices.DeleteFunc(slices.Clone(h.trials), func(t *trial) bool { return !t.done() })
	slices.SortStableFunc(over, func(a, b *trial) int { // those without a catch last
		if a.Caught != b.Caught {
			return map[bool]int{true: -1, false: 1}[a.Caught]
		}
		return cmp.Compare(a.Seeds, b.Seeds)
	})
	if n := len(over); n > 0 && over[(n-1)/2].Caught {
		m.Seeds = over[(n-1)/2].Seeds
		var hits []*trial
		for _, t := range over {
			if t.Caught {
				hits = append(hits, t)
			}
		}
		m.VirtualMS = median(hits, func(t *trial) float64 { return t.VirtualMS })
		m.WallMS = median(hits, func(t *trial) float64 { return t.WallMS })
	}
	return m
}

// median is the lower one of an even number.
func median(trials []*trial, of func(*trial) float64) float64 {
	var all []float64
	for _, t := range trials {
		all = append(all, of(t))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// ordered sorts catchers: those of most passes first, then in the order of the
// scenarios and of the properties.
func (h *hunt) ordered(counts map[catcher]int) []catcher {
	place := func(c catcher) int {
		s := slices.IndexFunc(h.list, func(p played) bool { return p.scenario.Name == c.scenario })
		p := slices.IndexFunc(checker.Properties(), func(i checker.PropertyInfo) bool { return i.Name == c.property })
		return s*len(checker.Properties()) + p
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b catcher) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(place(a), place(b)))
	})
}

// text implements [table].
func (r *trackRecord) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "mutant\tclass\tof\tcaught by\tothers\tseeds\tvirtual\treal")
	for _, m := range r.Mutants {
		c := m.cells()
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", m.Name, m.Class, m.Of, strings.Join(c, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for class, cause := range gallery.Causes {
		if slices.ContainsFunc(r.Mutants, func(m mutantRow) bool { return m.Class == class }) {
			fmt.Fprintf(w, "class %d: %s\n", class, cause)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// cells are what caught the mutant, how many others did, and the medians.
func (m mutantRow) cells() []string {
	if m.Status != caught {
		return []string{m.Status, "", "", "", ""}
	}
	best := m.Catchers[0]
	by := fmt.Sprintf("%s: %s", best.Scenario, best.Property)
	if best.Passes < m.Passes {
		by += fmt.Sprintf(" (%d of %d seeds)", best.Passes, m.Passes)
	}
	others := fmt.Sprint(len(m.Catchers) - 1)
	if m.Seeds == 0 {
		return []string{by, others, "more", "", ""}
	}
	return []string{by, others, fmt.Sprint(m.Seeds), spanMS(m.VirtualMS), spanMS(m.WallMS)}
}

// markdown implements [table]: one table per class.
func (r *trackRecord) markdown(w io.Writer) error {
	for class, cause := range gallery.Causes {
		some := false
		for _, m := range r.Mutants {
			if m.Class != class {
				continue
			}
			if !some {
				fmt.Fprintf(w, "### %d. %s%s\n\n", class, strings.ToUpper(cause[:1]), cause[1:])
				fmt.Fprintln(w, "| mutant | of | mistake, and who shipped it | caught by | others | seeds | virtual | real |")
				fmt.Fprintln(w, "|---|---|---|---|---:|---:|---:|---:|")
				some = true
			}
			c := m.cells()
			fmt.Fprintf(w, "| %s | %s | %s Shipped: %s. | %s |\n", m.Name, m.Of, cell(m.Mistake), cell(strings.TrimSuffix(m.Shipped, ".")), strings.Join(c, " | "))
		}
		if some {
			fmt.Fprintln(w)
		}
	}
	_, err := fmt.Fprintln(w, r.sentence())
	return err
}

// cell is text inside a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func (r *trackRecord) sentence() string {
	s := fmt.Sprintf("%d of %d caught", r.Summary.Caught, r.Summary.Mutants)
	if r.Summary.KillRate != nil {
		s += fmt.Sprintf(", %s %%", strings.TrimSuffix(fmt.Sprintf("%.1f", floor(100**r.Summary.KillRate)), ".0"))
	}
	return s + fmt.Sprintf(". %s in %s.", english.Count(r.Summary.Runs, "run"), spanMS(r.WallMS))
}

// floor rounds down to a tenth, so that 100 means all.
func floor(percent float64) float64 { return float64(int(percent*10)) / 10 }
