package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
)

// Text writes a table of the mutants, the classes of mistakes, and a summary.
func (r *TrackRecord) Text(w io.Writer) error {
	rows := [][]string{{"mutant", "class", "of", "killed by", "others", "seeds", "virtual", "real"}}
	for _, m := range r.Mutants {
		rows = append(rows, append([]string{m.Name, fmt.Sprint(m.Class), m.Of}, m.cells()...))
	}
	if err := (search.Table{Rows: rows}).Write(w, false); err != nil {
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

// cells are the killer of the mutant, the number of other killers, and the
// medians.
func (m mutantRow) cells() []string {
	if m.Status != killed {
		return []string{m.Status, "", "", "", ""}
	}
	best := m.Killers[0]
	by := fmt.Sprintf("%s: %s", best.Scenario, best.Property)
	if best.Passes < m.Passes {
		by += fmt.Sprintf(" (%d of %d seeds)", best.Passes, m.Passes)
	}
	others := fmt.Sprint(len(m.Killers) - 1)
	if m.Seeds == 0 {
		return []string{by, others, "more", "", ""}
	}
	return []string{by, others, fmt.Sprint(m.Seeds), span(m.VirtualMS), span(m.WallMS)}
}

// Markdown writes one table per class of mistakes, and a summary.
func (r *TrackRecord) Markdown(w io.Writer) error {
	for class, cause := range gallery.Causes {
		rows := [][]string{{"mutant", "of", "mistake, and who shipped it", "killed by", "others", "seeds", "virtual", "real"}}
		for _, m := range r.Mutants {
			if m.Class == class {
				mistake := fmt.Sprintf("%s Shipped: %s.", cell(m.Mistake), cell(strings.TrimSuffix(m.Shipped, ".")))
				rows = append(rows, append([]string{m.Name, m.Of, mistake}, m.cells()...))
			}
		}
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintf(w, "### %d. %s\n\n", class, english.Upper(cause))
		if err := (search.Table{Rows: rows, From: 4, To: 8}).Write(w, true); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, r.sentence())
	return err
}

// cell is text inside a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func (r *TrackRecord) sentence() string {
	s := fmt.Sprintf("%d of %d killed", r.Summary.Killed, r.Summary.Mutants)
	if r.Summary.Score != nil {
		s += fmt.Sprintf(", mutation score %s %%", strings.TrimSuffix(fmt.Sprintf("%.1f", floor(100**r.Summary.Score)), ".0"))
	}
	return s + fmt.Sprintf(". %s in %s.", english.Count(r.Summary.Runs, "run"), span(r.WallMS))
}

// floor rounds down to a tenth, so that 100 means all.
func floor(percent float64) float64 { return float64(int(percent*10)) / 10 }
