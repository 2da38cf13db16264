package explore

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages/grid"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/terminal"
)

// writeHazards writes what went wrong, with the hazards of the same faults
// together. The function file says where a file of the results is.
func (r Results) writeHazards(w io.Writer, file func(...string) string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "runs\tafter\tviolated\tfirst seed\tsmallest\tscenario")
	for _, group := range byFaults(r.Causes) {
		for i, c := range group {
			after := ""
			if i == 0 {
				after = c.Least().After()
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%d\t%s\t%s\n", c.Count, after, c.Least().Violation(), c.FirstSeed, c.smallest(), c.where(file))
		}
	}
	return tw.Flush()
}

// smallest is the size to which a find was shrunk.
func (f Found) smallest() string {
	if f.Shrunk == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", english.Count(f.Shrunk.Size.Clients, "client"), english.Count(f.Shrunk.Size.Ops, "operation"))
}

// where is the file of the smallest scenario that is kept of a find.
func (f Found) where(file func(...string) string) string {
	switch {
	case f.Known:
		return "(known)"
	case f.Scenario == "":
		return ""
	case f.Shrunk != nil:
		return file(f.Shrunk.Scenario)
	}
	return file(f.Scenario)
}

// wideTable is the least width of a terminal for the table of faults and phases.
const wideTable = 125

// coverage counts the strikes of each fault in each phase.
func (r Results) coverage() draw.Coverage {
	all := draw.Coverage{}
	for _, c := range r.Coverage {
		all[c.Cell] = c.Hits
	}
	return all
}

// writeCoverage writes how often each fault struck in which phase.
func (r Results) writeCoverage(w io.Writer) error {
	coverage := r.coverage()
	if width := terminal.Width(w); width > 0 && width < wideTable {
		g := grid.Grid{Corner: "fault", Rows: r.Vocabulary.Faults, Width: width, Mark: func(row, col int) string {
			return coverage.Mark(r.Vocabulary.Faults[row], draw.Phases[col])
		}}
		for _, p := range draw.Phases {
			g.Cols = append(g.Cols, string(p))
		}
		g.Write(w)
		return nil
	}
	return coverage.Table(w, r.Vocabulary.Faults)
}

// writeRecall writes the hazards of the catalogue, and returns how many of them
// came by themselves.
func (r Results) writeRecall(w io.Writer) (came int, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "scenario\tviolated\tafter\tfirst seed\tit takes")
	for _, l := range r.Catalogue {
		seed, takes := "-", "not found"
		if i := slices.IndexFunc(r.Causes, func(c Found) bool { return c.Key == l.By }); i >= 0 {
			seed, takes = fmt.Sprint(r.Causes[i].FirstSeed), r.Causes[i].Least().After()
			came++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", l.Scenario, l.Violation(), l.After(), seed, takes)
	}
	return came, tw.Flush()
}
