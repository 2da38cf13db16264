package reports

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// claimRow is one documented promise, and the record of every lock on it.
type claimRow struct {
	Property string
	Promise  string
	Cells    []claimCell
	// Exceptions lists, for each lock, the runs that did not keep the promise.
	Exceptions []string
}

// claimCell is one lock's record on one promise.
type claimCell struct {
	Class, Symbol, Text, Title string
}

// claimTable compares every promise with the verdicts.
func claimTable(m *matrix) []claimRow {
	var rows []claimRow
	for _, p := range checker.Properties() {
		row := claimRow{Property: english.Clean(string(p.Name)), Promise: english.Clean(p.Promise)}
		judged := false
		for _, l := range m.locks {
			c, exception, any := claimOf(m, p.Name, l)
			judged = judged || any
			row.Cells = append(row.Cells, c)
			if exception != "" {
				row.Exceptions = append(row.Exceptions, exception)
			}
		}
		if judged {
			rows = append(rows, row)
		}
	}
	return rows
}

func claimOf(m *matrix, p checker.Property, lock string) (c claimCell, exception string, judged bool) {
	var violated, unknown []string
	runs, bad := 0, 0
	for _, s := range m.scenarios {
		cell := m.cell(s, lock)
		if cell == nil {
			continue
		}
		for _, r := range cell.runs {
			v, ok := r.Verdicts[p]
			if !ok {
				continue
			}
			runs++
			switch v.Outcome {
			case checker.Violated:
				bad++
				violated = added(violated, english.Name(s))
			case checker.Unknown:
				unknown = added(unknown, english.Name(s))
			}
		}
	}
	var notes []string
	if len(violated) > 0 {
		notes = append(notes, "violated in "+english.And(violated))
	}
	if len(unknown) > 0 {
		notes = append(notes, "unknown in "+english.And(unknown))
	}
	if len(notes) > 0 {
		exception = english.Name(lock) + ": " + strings.Join(notes, "; ")
	}
	switch {
	case runs == 0:
		return claimCell{Class: "none", Text: "–", Title: english.Name(lock) + " does not claim it"}, "", false
	case len(violated) > 0:
		c = claimCell{Class: "bad", Symbol: "✗", Text: fmt.Sprintf("%d of %d", bad, runs), Title: exception}
	case len(unknown) > 0:
		c = claimCell{Class: "unknown", Symbol: "?", Text: strconv.Itoa(runs), Title: exception}
	default:
		c = claimCell{Class: "good", Symbol: "✓", Text: strconv.Itoa(runs)}
		c.Title = fmt.Sprintf("%s: ok in %s", english.Name(lock), english.Count(runs, "run"))
	}
	return c, exception, true
}
