package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/suite"
)

// tally is what came of the variations, and the JSON that is printed of it.
type tally struct {
	Schema    string     `json:"schema"`
	Version   string     `json:"version"`
	Command   string     `json:"command"`
	Seeds     int        `json:"seeds"` // asked for
	Runs      int        `json:"runs"`  // played, one per seed
	Scenarios int        `json:"scenarios"`
	Locks     int        `json:"locks"`
	Skipped   int        `json:"skipped"` // pairs of scenario and lock that do not apply
	Verdicts  int        `json:"verdicts"`
	Property  []tallyRow `json:"properties"`
	// FalseAlarms, Missed and Unknown count the verdicts that are not as
	// expected.
	FalseAlarms int        `json:"false_alarms"`
	Missed      int        `json:"missed"`
	Unknown     int        `json:"unknown"`
	Surprises   []surprise `json:"surprises"` // those verdicts, by seed
	Defects     []string   `json:"defects,omitempty"`
	VirtualMS   float64    `json:"virtual_ms"`
	WallMS      float64    `json:"wall_ms"`

	files map[string]string
}

// tallyRow counts the verdicts on one property.
type tallyRow struct {
	Property    checker.Property `json:"property"`
	Verdicts    int              `json:"verdicts"`
	OK          int              `json:"ok"`       // as expected
	Violated    int              `json:"violated"` // as expected
	FalseAlarms int              `json:"false_alarms"`
	Missed      int              `json:"missed"`
	Unknown     int              `json:"unknown"`
}

// surprise is a verdict that is not as expected.
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

	file string // the scenario as the command line names it
}

const (
	falseAlarm = "false alarm"
	missed     = "missed"
	unknown    = "unknown"
)

func newTally(v variations, args []string) *tally {
	t := &tally{
		Schema: "holdfast-vary/1", Version: version, Command: varyCommand(args, v.flags), Seeds: v.flags.seeds,
		Scenarios: distinct(v.cells, func(j suite.Job) string { return j.Scenario }),
		Locks:     distinct(v.cells, func(j suite.Job) string { return j.Lock }),
		Surprises: []surprise{}, files: map[string]string{},
	}
	for _, p := range checker.Properties() {
		t.Property = append(t.Property, tallyRow{Property: p.Name})
	}
	for _, p := range v.list {
		t.files[p.scenario.Name] = p.scenario.Name
		if isFile(p.file) && p.file != p.scenario.Name+".yaml" {
			t.files[p.scenario.Name] = p.file
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

// add counts one run. A run that could not be judged is a defect, but for one
// that never ended, of which progress is violated.
func (t *tally) add(a suite.Answer) {
	r := a.Run
	t.Runs++
	t.VirtualMS += r.Stats.VirtualMS
	if a.Defect == "" && len(r.Verdicts) == 0 {
		a.Defect = cmp.Or(r.Failure, "nothing was judged")
	}
	if a.Defect == "" {
		a.Defect = a.Output
	}
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
			Expected: r.Expected[row.Property], Class: r.ExpectedClass[row.Property], History: r.History, file: t.files[r.Scenario],
		})
	}
}

// kindOf says in which way a verdict is not the expected one; "" when it is.
// To call a contract broken where only a lease was outlived is a false alarm.
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

// finish puts what came in any order into one.
func (t *tally) finish() {
	slices.SortStableFunc(t.Surprises, func(a, b surprise) int { return cmp.Compare(a.Seed, b.Seed) })
	slices.Sort(t.Defects)
}

// shownSurprises is how many verdicts that are not as expected are printed in
// full; JSON has all of them.
const shownSurprises = 20

// text implements [table].
func (t *tally) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "property\tverdicts\tok\tviolated, as expected\tfalse alarms\tmissed\tunknown\t\n")
	for _, r := range t.rows() {
		for i, cell := range r {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			fmt.Fprint(tw, cell)
		}
		fmt.Fprint(tw, "\t\n")
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, s := range t.Surprises {
		if i == shownSurprises {
			fmt.Fprintf(w, "and %d more; --format json has all of them\n", len(t.Surprises)-i)
			break
		}
		fmt.Fprintf(w, "seed %d, %s with %s: %s is %s, expected %s: %s\n", s.Seed, s.Scenario, s.Lock, s.Property,
			verdictWords(s.Verdict.Outcome, s.Verdict.Class), verdictWords(s.Expected, s.Class), s.Verdict.Reason)
	}
	_, err := fmt.Fprintln(w, t.sentence())
	return err
}

func verdictWords(o checker.Outcome, class string) string {
	if class != "" {
		return fmt.Sprintf("%s (%s)", o, class)
	}
	return string(o)
}

// markdown implements [table].
func (t *tally) markdown(w io.Writer) error {
	fmt.Fprintf(w, "| property | verdicts | ok | violated, as expected | false alarms | missed | unknown |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range t.rows() {
		fmt.Fprint(w, "|")
		for _, cell := range r {
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", t.sentence())
	return err
}

// rows is the table in words, with the sums last.
func (t *tally) rows() [][]string {
	sum := tallyRow{Property: "all"}
	var all [][]string
	row := func(r tallyRow) {
		cells := []string{string(r.Property)}
		for _, n := range []int{r.Verdicts, r.OK, r.Violated, r.FalseAlarms, r.Missed, r.Unknown} {
			cells = append(cells, strconv.Itoa(n))
		}
		all = append(all, cells)
	}
	for _, r := range t.Property {
		row(r)
		sum.Verdicts += r.Verdicts
		sum.OK += r.OK
		sum.Violated += r.Violated
		sum.FalseAlarms += r.FalseAlarms
		sum.Missed += r.Missed
		sum.Unknown += r.Unknown
	}
	row(sum)
	return all
}

func (t *tally) sentence() string {
	return fmt.Sprintf("%s: variations of %s, played with %s. %s, %s, %d unknown in %s; %s of virtual time in %s.",
		english.Count(t.Runs, "seed"), english.Count(t.Scenarios, "scenario"), english.Count(t.Locks, "lock"),
		english.Count(t.FalseAlarms, "false alarm"), english.Count(t.Missed, "missed violation"), t.Unknown, english.Count(t.Verdicts, "verdict"),
		spanMS(t.VirtualMS), spanMS(t.WallMS))
}
