package locktest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// wrongIn names what is wrong with a run, in the same words for each seed.
func wrongIn(run results.Run) string {
	var all []string
	if run.Failure != "" {
		all = append(all, "a failure")
	}
	for _, p := range unexpected(run) {
		v := run.Verdicts[p]
		all = append(all, strings.TrimRight(fmt.Sprintf("%s %s %s", p, v.Outcome, v.Class), " "))
	}
	return strings.Join(all, ", ")
}

func anyVerdict(verdicts map[checker.Property]checker.Verdict, is func(checker.Verdict) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(verdicts)), is)
}

// unexpected are the properties whose verdict is not the expected one, in order.
func unexpected(run results.Run) []checker.Property {
	var all []checker.Property
	for _, p := range checker.Properties() {
		if _, judged := run.Verdicts[p.Name]; judged && !run.Matches(p.Name) {
			all = append(all, p.Name)
		}
	}
	return all
}

// complaint says what is wrong with a run, draws the worst of it, and says how to see it
// again.
func (r *runner) complaint(p *judged, said *logged) string {
	run := p.run
	var b strings.Builder
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n", run.Failure)
	}
	if anyVerdict(run.Verdicts, func(v checker.Verdict) bool { return v.Outcome == checker.Unknown }) {
		b.WriteString(firstFailure(p.history))
	}
	for _, l := range wrongLines(run) {
		fmt.Fprintf(&b, "%s %s: %s\n", english.And(l.names), l.what, l.reason)
	}
	for _, property := range unexpected(run) {
		if drawing := story.Diagram(p.history, &run, property); drawing != "" {
			fmt.Fprintf(&b, "\n%s\n", drawing)
			break
		}
	}
	b.WriteString(panicked(p.history))
	b.WriteString(unstruckIn(run, p.history))
	fmt.Fprintf(&b, "seed:   %d\nagain:  %s\nreport: holdfast report %s", run.Seed, run.Test, r.dir)
	_, restore := capture()
	again, err := r.once(p.scenario, run.Seed)
	restore()
	if err == nil && again.History.Hash() != run.HistorySHA256 {
		b.WriteString("\nThe same seed gave another history the second time: the end of the test says why.")
		r.unrepeatable++
	}
	if log := said.String(); log != "" {
		b.WriteString("\n" + log)
	}
	return b.String()
}

// wrongLine is a line of a complaint: a reason, and the properties that are violated,
// or unknown, for it.
type wrongLine struct {
	names        []string
	what, reason string
}

// wrongLines has violations as they began, because the cause comes before its consequences.
func wrongLines(run results.Run) []wrongLine {
	var lines []wrongLine
	all := unexpected(run)
	began := func(p checker.Property) float64 {
		if v := run.Verdicts[p]; v.Outcome == checker.Violated {
			return v.AtMS
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(all, func(a, b checker.Property) int { return cmp.Compare(began(a), began(b)) })
	for _, p := range all {
		v := run.Verdicts[p]
		what := string(v.Outcome)
		if v.Class != "" {
			what += " (" + v.Class + ")"
		}
		i := slices.IndexFunc(lines, func(l wrongLine) bool { return l.what == what && l.reason == v.Reason })
		if i < 0 {
			i = len(lines)
			lines = append(lines, wrongLine{what: what, reason: v.Reason})
		}
		lines[i].names = append(lines[i].names, string(p))
	}
	return lines
}

// firstFailure names the first error that the lock returned: where nothing can be
// judged, that is usually why. Any other error says more than that the lock is busy.
func firstFailure(h *history.History) (text string) {
	for _, e := range h.Events {
		if e.Kind != history.Fail && e.Kind != history.Info || e.Result == nil || e.Result.Message == "" {
			continue
		}
		if busy := e.Result.Error == history.ErrBusy; text == "" || !busy {
			text = fmt.Sprintf("the first error: the %s of %s ended as %q at %v: %s\n", e.F, e.Owner, e.Result.Error, time.Duration(e.Time), e.Result.Message)
			if !busy {
				return text
			}
		}
	}
	return text
}
