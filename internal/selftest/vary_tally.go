package selftest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Tally is the result of the variations, and the JSON document that the command
// prints.
type Tally struct {
	search.Header
	Seeds     int        `json:"seeds"` // asked for
	Runs      int        `json:"runs"`  // played, one per seed
	Scenarios int        `json:"scenarios"`
	Locks     int        `json:"locks"`
	Skipped   int        `json:"skipped"` // pairs of scenario and lock that do not apply
	Verdicts  int        `json:"verdicts"`
	Property  []tallyRow `json:"properties"`
	// FalseAlarms, Missed and Unknown count the unexpected verdicts.
	FalseAlarms int        `json:"false_alarms"`
	Missed      int        `json:"missed"`
	Unknown     int        `json:"unknown"`
	Surprises   []surprise `json:"surprises"` // those verdicts, by seed
	Defects     []string   `json:"defects,omitempty"`
	VirtualMS   float64    `json:"virtual_ms"`
	WallMS      float64    `json:"wall_ms"`

	files map[string]string
}

type tallyRow struct {
	Property    checker.Property `json:"property"`
	Verdicts    int              `json:"verdicts"`
	OK          int              `json:"ok"`       // as expected
	Violated    int              `json:"violated"` // as expected
	FalseAlarms int              `json:"false_alarms"`
	Missed      int              `json:"missed"`
	Unknown     int              `json:"unknown"`
}

type surprise struct {
	Seed     uint64           `json:"seed"`
	Scenario string           `json:"scenario"`
	Lock     string           `json:"lock"`
	Property checker.Property `json:"property"`
	Kind     string           `json:"kind"` // "false alarm", "missed" or "unknown"
	Verdict  checker.Verdict  `json:"verdict"`
	Expected checker.Outcome  `json:"expected"`
	Class    string           `json:"expected_class,omitempty"`
	History  string           `json:"history,omitempty"`

	File string `json:"-"` // the scenario as the command line names it
}

const (
	falseAlarm = "false alarm"
	missed     = "missed"
	unknown    = "unknown"
)

func newTally(v Variations) *Tally {
	t := &Tally{
		Header: search.NewHeader("vary", ""), Seeds: v.Seeds,
		Scenarios: distinct(v.Cells, func(j suite.Job) string { return j.Scenario }),
		Locks:     distinct(v.Cells, func(j suite.Job) string { return j.Lock }),
		Surprises: []surprise{}, files: map[string]string{},
	}
	for _, p := range checker.Properties() {
		t.Property = append(t.Property, tallyRow{Property: p.Name})
	}
	for _, j := range v.Cells {
		t.files[j.Scenario] = j.File
		if j.File == j.Scenario+".yaml" {
			t.files[j.Scenario] = j.Scenario
		}
	}
	return t
}

func distinct(jobs []suite.Job, key func(suite.Job) string) int {
	seen := map[string]bool{}
	for _, j := range jobs {
		seen[key(j)] = true
	}
	return len(seen)
}

// add counts one run. A run that could not be judged is a defect. A run that
// never ended is not: it violates progress.
func (t *Tally) add(a suite.Answer) {
	r := a.Run
	t.Runs++
	t.VirtualMS += r.Stats.VirtualMS
	if a.Defect == "" && len(r.Verdicts) == 0 {
		a.Defect = cmp.Or(r.Failure, "nothing was judged")
	}
	a.Defect = cmp.Or(a.Defect, a.Output)
	if a.Defect != "" {
		t.Defects = append(t.Defects, fmt.Sprintf("%s with %s, seed %d: %s", r.Scenario, r.Lock, r.Seed, a.Defect))
		return
	}
	for i := range t.Property {
		row := &t.Property[i]
		v, judged := r.Verdicts[row.Property]
		if !judged {
			continue
		}
		t.Verdicts++
		row.Verdicts++
		kind := kindOf(v, r.Expected[row.Property], r.ExpectedClass[row.Property])
		switch kind {
		case "":
			if v.Outcome == checker.Violated {
				row.Violated++
			} else {
				row.OK++
			}
			continue
		case falseAlarm:
			row.FalseAlarms++
			t.FalseAlarms++
		case missed:
			row.Missed++
			t.Missed++
		case unknown:
			row.Unknown++
			t.Unknown++
		}
		t.Surprises = append(t.Surprises, surprise{
			Seed: r.Seed, Scenario: r.Scenario, Lock: r.Lock, Property: row.Property, Kind: kind, Verdict: v,
			Expected: r.Expected[row.Property], Class: r.ExpectedClass[row.Property], History: r.History, File: t.files[r.Scenario],
		})
	}
}

// kindOf classifies an unexpected verdict; "" for an expected one. A broken
// contract instead of an outlived lease is a false alarm.
func kindOf(v checker.Verdict, want checker.Outcome, class string) string {
	switch {
	case v.Outcome == want && (class == "" || v.Class == class):
		return ""
	case v.Outcome == checker.Unknown:
		return unknown
	case v.Outcome == checker.Violated && (want != checker.Violated || v.Class == checker.ContractBroken):
		return falseAlarm
	}
	return missed
}

// finish sorts results that came in any order.
func (t *Tally) finish() {
	slices.SortStableFunc(t.Surprises, func(a, b surprise) int { return cmp.Compare(a.Seed, b.Seed) })
	slices.Sort(t.Defects)
}
