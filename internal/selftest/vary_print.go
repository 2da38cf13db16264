package selftest

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
)

// shownSurprises is the number of unexpected verdicts that the text has in full. JSON has
// all of them.
const shownSurprises = 20

// Text writes a table per property, the first unexpected verdicts, and a summary.
func (t *Tally) Text(w io.Writer) error {
	if err := t.table().Write(w, false); err != nil {
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

// Markdown writes the table and the summary.
func (t *Tally) Markdown(w io.Writer) error {
	if err := t.table().Write(w, true); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", t.sentence())
	return err
}

// table has the sums last.
func (t *Tally) table() search.Table {
	sum := tallyRow{Property: "all"}
	all := [][]string{{"property", "verdicts", "ok", "violated, as expected", "false alarms", "missed", "unknown"}}
	row := func(r tallyRow) {
		counts := []int{r.Verdicts, r.OK, r.Violated, r.FalseAlarms, r.Missed, r.Unknown}
		all = append(all, append([]string{string(r.Property)}, english.Words(counts, strconv.Itoa)...))
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
	return search.Table{Rows: all, From: 1, To: 7}
}

func (t *Tally) sentence() string {
	return fmt.Sprintf("%s: variations of %s, played with %s. %s, %s, %d unknown in %s; %s of virtual time in %s.",
		english.Count(t.Runs, "seed"), english.Count(t.Scenarios, "scenario"), english.Count(t.Locks, "lock"),
		english.Count(t.FalseAlarms, "false alarm"), english.Count(t.Missed, "missed violation"), t.Unknown, english.Count(t.Verdicts, "verdict"),
		span(t.VirtualMS), span(t.WallMS))
}

func span(ms float64) string {
	return english.Span(time.Duration(ms * float64(time.Millisecond)))
}
