package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/chart"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Text writes the report for a terminal: the matrix of scenarios and locks, every
// unexpected or unknown verdict, and one line of counts. Each verdict has the
// command that repeats its run. A document with one run has all its details
// instead. The first line says if the results are interrupted.
func (d Document) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	m := newMatrix(d)
	if words := d.Results.InterruptedWords(); words != "" {
		writeWrapped(b, "", words)
		fmt.Fprintln(b)
	}
	if len(d.Results.Runs) == 1 && len(d.Results.Skipped) == 0 {
		textRun(b, d, &d.Results.Runs[0])
	} else {
		textMatrix(b, d, m)
		textFindings(b, m)
		textUnplayed(b, "Not run", m.unplayed())
	}
	for _, words := range []string{d.missingWords(), d.goneWords()} {
		if words != "" {
			writeWrapped(b, "", words)
			fmt.Fprintln(b)
		}
	}
	fmt.Fprintln(b, summaryLine(results.Summarize(d.Results.Runs)))
	return b.Flush()
}

func textMatrix(w *bufio.Writer, d Document, m *matrix) {
	if len(m.scenarios) == 0 {
		return
	}
	g := textGrid(m, d.width(), func(s, l string) string { return textMark(m.cell(s, l)) })
	if d.Colour {
		g.Paint = func(r, c int, mark string) string { return painted(m.cell(m.scenarios[r], m.locks[c]).outcome(), mark) }
	}
	g.Write(w)
	textLegend(w, m)
}

// lineWidth is the width of a line of text. gridWidth is that of a matrix if no terminal
// reports its own: a file need not fold the built-in locks.
const (
	lineWidth = 80
	gridWidth = 100
)

func (d Document) width() int {
	if d.Width <= 0 {
		return gridWidth
	}
	return max(d.Width, 40)
}

// outcome is the one whose colour the mark of a cell has; empty where nothing was played.
func (c *cell) outcome() checker.Outcome {
	switch k := c.mark(); {
	case k == markNone || k == markSkipped:
		return ""
	case k == markUnknown:
		return checker.Unknown
	case k == markOK && c.expected():
		return checker.OutcomeOK
	}
	return checker.Violated
}

// painted is text in the colour of an outcome, as terminals show it, but for the blanks
// around it.
func painted(o checker.Outcome, text string) string {
	colour := map[checker.Outcome]string{checker.Violated: "\x1b[31m", checker.OutcomeOK: "\x1b[32m", checker.Unknown: "\x1b[33m"}[o]
	if colour == "" {
		return text
	}
	word := strings.TrimSpace(text)
	return strings.Replace(text, word, colour+word+"\x1b[0m", 1)
}

// textGrid has one row for each scenario and one column for each lock, grouped by hazard.
func textGrid(m *matrix, width int, mark func(scenario, lock string) string) chart.Grid {
	return chart.Grid{
		Corner: "scenario", Width: width, Rows: english.Words(m.scenarios, english.Name), Cols: english.Words(m.locks, english.Name),
		Mark: func(r, c int) string { return mark(m.scenarios[r], m.locks[c]) },
	}
}

// textLegend explains the marks in use.
func textLegend(w *bufio.Writer, m *matrix) {
	seen := map[mark]bool{}
	unexpected := false
	for _, c := range m.cells {
		seen[c.mark()] = true
		unexpected = unexpected || !c.expected()
	}
	for _, k := range legend {
		if seen[k] {
			fmt.Fprintf(w, "%4s  %s\n", looks[k].ascii, looks[k].meaning)
		}
	}
	if unexpected {
		fmt.Fprintf(w, "%4s  in brackets: not as expected\n", "[ ]")
	}
	fmt.Fprintln(w)
}

func textMark(c *cell) string {
	t := looks[c.mark()].ascii
	if !c.expected() {
		return "[" + t + "]"
	}
	return t
}

func textFindings(w *bufio.Writer, m *matrix) {
	all := m.findings()
	for _, part := range []struct {
		title    string
		expected bool
	}{{"Not as expected", false}, {"Unknown, as the scenario expects", true}} {
		titled := false
		for _, f := range all {
			if f.expected != part.expected {
				continue
			}
			if !titled {
				fmt.Fprintf(w, "%s:\n\n", part.title)
				titled = true
			}
			textFinding(w, f)
		}
	}
}

func textFinding(w *bufio.Writer, f finding) {
	fmt.Fprintf(w, "  %s, %s: %s %s", english.Name(f.run.Scenario), english.Name(f.run.Column()), f.property, f.got)
	if !f.expected {
		fmt.Fprintf(w, ", expected %s", f.want)
	}
	fmt.Fprintln(w)
	writeWrapped(w, "    ", f.reason)
	writeTail(w, "    ", f.tail)
	writeWrapped(w, "    ", f.facts)
	writeWrapped(w, "    ", f.alsoWords())
	if f.because != "" && !f.expected {
		writeWrapped(w, "    ", "expected because: "+f.because)
	}
	if f.of > 1 {
		writeWrapped(w, "    ", fmt.Sprintf("with %d of %d seeds: %s", len(f.seeds), f.of, seedList(f.seeds, 8)))
	}
	fmt.Fprintf(w, "    %s: %s\n\n", againWords(f.run), Replay(f.run))
}

// textUnplayed lists the pairs that were not played, with the reasons.
func textUnplayed(w *bufio.Writer, title string, all []unplayed) {
	for i, u := range all {
		if i == 0 {
			fmt.Fprintf(w, "%s:\n\n", title)
		}
		writeWrapped(w, "  ", fmt.Sprintf("%s, with %s: %s", english.And(u.Scenarios), u.With(), u.Reason))
		fmt.Fprintln(w)
	}
}

// textRun describes one run: every verdict, and the story.
func textRun(w *bufio.Writer, d Document, r *results.Run) {
	fmt.Fprintf(w, "%s, %s, %s, seed %d\n", english.Name(r.Scenario), english.Name(r.Column()), english.Name(r.World), r.Seed)
	if title := d.about(r.Scenario).Title; title != "" {
		fmt.Fprintln(w, english.Clean(title))
	}
	fmt.Fprintln(w)
	if r.Failure != "" {
		reason, tail := failureOf(r)
		writeWrapped(w, "", "The run could not be judged: "+reason)
		writeTail(w, "  ", tail)
		fmt.Fprintln(w)
	}
	if len(r.Verdicts) > 0 {
		textVerdicts(w, r, d.Colour)
	}
	h, absent := d.history(*r)
	if h != nil {
		if p := worstOf(r); p != "" {
			if drawing := story.Diagram(h, r, p); drawing != "" {
				fmt.Fprintln(w, drawing)
			}
		}
		fmt.Fprintln(w, "What happened:")
		fmt.Fprintln(w)
		for _, s := range story.Tell(story.NewFacts(h), r) {
			writeTimed(w, s)
		}
		fmt.Fprintln(w)
	} else if d.Histories != nil {
		fmt.Fprintf(w, "%s\n\n", absent)
	}
	if r.Stats != (results.Stats{}) {
		sizes := english.Count(r.Stats.Ops, "operation")
		if r.Stats.Commands > 0 { // real servers do not count them
			sizes += ", " + english.Count(r.Stats.Commands, "command")
		}
		fmt.Fprintf(w, "%s, %s of run time in %s\n", sizes, length(int64(r.Stats.VirtualMS*1e6)), length(int64(r.Stats.WallMS*1e6)))
	}
	for _, part := range paceWords(r) {
		fmt.Fprintln(w, part)
	}
	fmt.Fprintf(w, "%s: %s\n", againWords(r), Replay(r))
}

// worstOf is the property to draw of a run: the first unexpected violation, or else the
// first one. It is "" for a run without violations.
func worstOf(r *results.Run) (worst checker.Property) {
	for _, p := range propertiesOf(r) {
		switch {
		case r.Verdicts[p].Outcome != checker.Violated:
		case !r.Matches(p):
			return p
		case worst == "":
			worst = p
		}
	}
	return worst
}

// textVerdicts writes a table of the verdicts, with the reasons of each.
func textVerdicts(w *bufio.Writer, r *results.Run, colour bool) {
	rows := [][3]string{{"property", "verdict", ""}}
	for _, p := range propertiesOf(r) {
		v := r.Verdicts[p]
		note := "as expected"
		if _, accepted := r.Accepted[p]; accepted {
			note = "accepted"
		} else if !r.Matches(p) {
			note = "[expected " + expectedWords(r, p) + "]"
		}
		rows = append(rows, [3]string{english.Clean(string(p)), verdictWords(v.Outcome, v.Class), note})
	}
	property, verdict := 0, 0
	for _, row := range rows {
		property, verdict = max(property, utf8.RuneCountInString(row[0])), max(verdict, utf8.RuneCountInString(row[1]))
	}
	for i, row := range rows {
		words := fmt.Sprintf("%-*s", verdict, row[1])
		if colour && i > 0 {
			words = painted(r.Verdicts[propertiesOf(r)[i-1]].Outcome, words)
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-*s  %s  %s", property, row[0], words, row[2]), " "))
		if i > 0 {
			textReasons(w, r, propertiesOf(r)[i-1])
		}
	}
	fmt.Fprintln(w)
}

// textReasons adds the facts about a verdict under its line.
func textReasons(w *bufio.Writer, r *results.Run, p checker.Property) {
	const indent = "      "
	v := r.Verdicts[p]
	writeWrapped(w, indent, english.Clean(v.Reason))
	if v.Outcome != "ok" {
		writeWrapped(w, indent, verdictFacts(v))
	}
	b := because(r, p)
	said := r.Matches(p) && strings.Contains(b, strings.TrimSuffix(english.Clean(v.Reason), ".")) // it repeats the verdict's reason
	if b != "" && !said && (v.Outcome != "ok" || !r.Matches(p)) {
		if _, accepted := r.Accepted[p]; !accepted {
			b = "expected because: " + b
		}
		writeWrapped(w, indent, b)
	}
}

// writeWrapped breaks text at spaces so that lines stay within [lineWidth]. It writes nothing
// for an empty text.
func writeWrapped(w *bufio.Writer, indent, text string) {
	if text == "" {
		return
	}
	line := indent
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth {
			fmt.Fprintln(w, line)
			line = indent
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

// writeTail writes lines unchanged.
func writeTail(w *bufio.Writer, indent string, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(indent+"| "+line, " "))
	}
}

// writeTimed writes one sentence of a story after its time.
func writeTimed(w *bufio.Writer, s story.Sentence) {
	head := ""
	if !s.Gap {
		head = history.At(s.At)
	}
	flag := " "
	if s.Bad {
		flag = "!"
	}
	var b strings.Builder
	lines := bufio.NewWriter(&b)
	writeWrapped(lines, "               ", s.Text)
	lines.Flush()
	fmt.Fprintf(w, "%12s %s %s", head, flag, strings.TrimPrefix(b.String(), "               "))
}
