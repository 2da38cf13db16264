package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// cleanLines is clean, but keeps line breaks, for a story in paragraphs.
func cleanLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	return strings.TrimSpace(strings.Join(english.Words(lines, english.Clean), "\n"))
}

// word quotes s as one word of a shell command.
func word(s string) string {
	s = english.Clean(s)
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// length formats a duration: "812 ms", "1.2 s".
func length(ns int64) string { return english.Span(time.Duration(ns)) }

// milliseconds formats a time or length of a verdict: "4,213 ms".
func milliseconds(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', -1, 64) + " ms"
	}
	return thousands(int64(ms+0.5)) + " ms"
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seedList(seeds []uint64, most int) string {
	text := strings.Join(english.Words(seeds[:min(most, len(seeds))], number), ", ")
	if more := len(seeds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// headline is the answer in one sentence.
func (d Document) headline() string {
	if words := d.Results.InterruptedWords(); words != "" {
		return words + " " + d.answer()
	}
	return d.answer()
}

// answer sums up the runs of a document.
func (d Document) answer() string {
	runs := d.Results.Runs
	s := results.Summarize(runs)
	if s.Runs == 0 {
		return "Nothing was run."
	}
	broken, argued, judged := 0, 0, 0
	for i := range runs {
		if v, ok := runs[i].Verdicts[checker.Exclusion]; ok && v.Outcome != checker.Unknown {
			judged++
		}
		if runs[i].Verdicts[checker.Exclusion].Outcome != checker.Violated {
			continue
		}
		broken++
		if runs[i].Matches(checker.Exclusion) {
			argued++
		}
	}
	var b strings.Builder
	b.WriteString(english.Count(s.Runs, "run"))
	switch {
	case s.AsExpected == s.Runs && s.Runs == 1:
		b.WriteString(", with every verdict as expected")
	case s.AsExpected == s.Runs:
		b.WriteString(", every verdict as expected")
	default:
		var not []string
		if s.Unexpected > 0 {
			not = append(not, fmt.Sprintf("%d not as expected", s.Unexpected))
		}
		if s.Unknown > 0 {
			not = append(not, fmt.Sprintf("%d unknown", s.Unknown))
		}
		b.WriteString(": " + strings.Join(not, ", "))
	}
	switch {
	case judged == 0:
		b.WriteString("; nothing is known of exclusion.")
	case broken == 0:
		b.WriteString("; exclusion was never seen violated.")
	case s.Runs == 1 && argued == 1:
		b.WriteString("; exclusion was violated, as the scenario argues.")
	case s.Runs == 1:
		b.WriteString("; exclusion was violated.")
	case argued == 0:
		fmt.Fprintf(&b, "; exclusion was violated in %d of them, which no scenario argues for.", broken)
	case argued == broken:
		fmt.Fprintf(&b, "; exclusion was violated in %d of them, as the scenarios argue.", broken)
	default:
		fmt.Fprintf(&b, "; exclusion was violated in %d of them, in %d as the scenarios argue.", broken, argued)
	}
	return b.String()
}

// summaryLine is the line of counts at the end of a text report.
func summaryLine(s results.Summary) string {
	return fmt.Sprintf("%s: %d as expected, %d not as expected, %d unknown", english.Count(s.Runs, "run"), s.AsExpected, s.Unexpected, s.Unknown)
}
