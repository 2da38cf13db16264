package pages

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/chart"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
)

type Exploration struct {
	explore.Results
	Dir  suite.Dir `json:"-"`
	Tell bool      `json:"-"` // the story of the find, if there is one
}

func (p Exploration) Text(w io.Writer) error { return p.print(&printer{w: w}) }

func (p Exploration) Markdown(w io.Writer) error { return p.print(&printer{w: w, markdown: true}) }

func (p Exploration) print(to *printer) error {
	if p.Interrupted {
		to.print("Interrupted: some runs are missing, or some finds are not shrunk.\n\n")
	}
	if len(p.Causes) > 0 {
		to.print("violations, grouped by the faults before them:\n\n")
		to.table(search.Table{Rows: p.hazards()})
		to.print("\n")
	}
	if !p.Tell || p.Violated == 0 { // after the few runs to a first find it would be all holes
		to.print("strikes of each fault in each phase (a dot is a gap):\n\n")
		p.printCoverage(to)
		to.print("\n")
	}
	if rows, came := p.recalled(); len(rows) > 1 {
		to.print("hazards of the catalogue that exploration found:\n\n")
		to.table(search.Table{Rows: rows})
		to.print("\n%d of %d\n\n", came, len(p.Catalogue))
	}
	lines := p.Sentences()
	if all := p.Together(len(p.Shards)); all != "" {
		lines = append(lines, all)
	}
	to.print("%s\n", strings.Join(lines, "\n"))
	p.tell(to)
	return to.err
}

// tell prints the story of the find that has ended the exploration.
func (p Exploration) tell(to *printer) {
	i := slices.IndexFunc(p.Causes, func(c explore.Found) bool { return !c.Known && c.Shrunk != nil })
	if !p.Tell || i < 0 || to.err != nil {
		return
	}
	var text []byte
	if text, to.err = os.ReadFile(p.Dir.File(p.Causes[i].Shrunk.Story)); to.err != nil {
		return
	}
	fence := ""
	if to.markdown {
		fence = "```\n"
	}
	to.print("\nthe run after shrinking:\n\n%s%s%s", fence, text, fence)
}

// hazards are the distinct violations, those of the same faults together.
func (p Exploration) hazards() [][]string {
	rows := [][]string{{"runs", "after", "violated", "first seed", "smallest", "scenario"}}
	for _, group := range search.ByFaults(search.Pointers(explore.Distinct(p.Causes))) {
		after := group[0].Least().After()
		for _, c := range group {
			smallest, where := "", ""
			if c.Shrunk != nil {
				smallest = fmt.Sprintf("%s, %s", english.Count(c.Shrunk.Size.Clients, "client"), english.Count(c.Shrunk.Size.Ops, "operation"))
			}
			switch {
			case c.Known:
				where = "(known)"
			case c.Scenario == "":
			case c.Shrunk != nil:
				where = p.Dir.File(c.Shrunk.Scenario)
			default:
				where = p.Dir.File(c.Scenario)
			}
			rows = append(rows, []string{fmt.Sprint(c.Count), after, c.Least().Violation(), fmt.Sprint(c.FirstSeed), smallest, where})
			after = ""
		}
	}
	return rows
}

// wideTable is the least width of a terminal for the table of faults and phases.
const wideTable = 125

// printCoverage prints how often each fault struck in which phase.
func (p Exploration) printCoverage(to *printer) {
	hits, faults := p.Hits(), p.Vocabulary.Faults
	phases := english.Words(draw.Phases, func(phase draw.Phase) string { return string(phase) })
	if width := terminal.Width(to.w); width > 0 && width < wideTable {
		chart.Grid{Corner: "fault", Rows: faults, Cols: phases, Width: width, Mark: func(row, col int) string { return hits.Mark(faults[row], draw.Phases[col]) }}.Write(to.w)
		return
	}
	rows := [][]string{append([]string{"fault"}, phases...)}
	for _, f := range faults {
		row := []string{f}
		rows = append(rows, append(row, english.Words(draw.Phases, func(p draw.Phase) string { return hits.Mark(f, p) })...))
	}
	to.table(search.Table{Rows: rows, From: 1, To: len(rows[0]), Right: true})
}

// recalled are the hazards of the catalogue, with their head, and how many of them came by
// themselves.
func (p Exploration) recalled() (rows [][]string, came int) {
	rows = [][]string{{"scenario", "violated", "after", "first seed", "it takes"}}
	for _, l := range p.Catalogue {
		seed, takes := "-", "not found"
		if i := slices.IndexFunc(p.Causes, func(c explore.Found) bool { return c.Key == l.By }); i >= 0 {
			seed, takes = fmt.Sprint(p.Causes[i].FirstSeed), p.Causes[i].Least().After()
			came++
		}
		rows = append(rows, []string{l.Scenario, l.Violation(), l.After(), seed, takes})
	}
	return rows, came
}
