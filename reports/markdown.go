package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Markdown writes the matrix, and the unexpected and unknown verdicts, as GitHub
// tables for a pull request or a job summary.
func (d Document) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	m := newMatrix(d)
	fmt.Fprintf(b, "**%s**\n\n", EscapeMarkdown(d.headline()))
	for _, words := range []string{d.missingWords(), d.goneWords()} {
		if words != "" {
			fmt.Fprintf(b, "%s\n\n", EscapeMarkdown(words))
		}
	}
	if len(m.scenarios) > 0 {
		markdownMatrix(b, m)
	}
	markdownFindings(b, m)
	for _, u := range m.unplayed() {
		fmt.Fprintf(b, "Not run: %s, with %s: %s\n\n", EscapeMarkdown(english.And(u.Scenarios)), EscapeMarkdown(u.With()), EscapeMarkdown(u.Reason))
	}
	if len(d.Results.Runs) == 1 {
		markdownStory(b, d, &d.Results.Runs[0])
	}
	if len(d.Results.Runs) > 0 {
		fmt.Fprintf(b, "%s.\n", summaryLine(results.Summarize(d.Results.Runs)))
	}
	return b.Flush()
}

func markdownMatrix(w *bufio.Writer, m *matrix) {
	markdownGrid(w, m, func(s, l string) string {
		c := m.cell(s, l)
		text := EscapeMarkdown(looks[c.mark()].symbol)
		if !c.expected() {
			text = `**\[` + text + `\]**`
		}
		return text
	})
	fmt.Fprint(w, "; in \\[brackets\\]: not as expected.\n\n")
}

// markdownGrid writes one row for each scenario and one column for each lock, and
// explains the marks.
func markdownGrid(w *bufio.Writer, m *matrix, mark func(scenario, lock string) string) {
	fmt.Fprint(w, "| scenario |")
	for _, l := range m.locks {
		fmt.Fprintf(w, " %s |", EscapeMarkdown(english.Name(l)))
	}
	fmt.Fprint(w, "\n|---|", strings.Repeat(":---:|", len(m.locks)), "\n")
	for _, s := range m.scenarios {
		fmt.Fprintf(w, "| %s |", EscapeMarkdown(english.Name(s)))
		for _, l := range m.locks {
			fmt.Fprintf(w, " %s |", mark(s, l))
		}
		fmt.Fprintln(w)
	}
	var parts []string
	for _, k := range legend {
		parts = append(parts, EscapeMarkdown(looks[k].symbol)+" "+EscapeMarkdown(looks[k].meaning))
	}
	fmt.Fprintf(w, "\n%s", strings.Join(parts, "; "))
}

func markdownFindings(w *bufio.Writer, m *matrix) {
	all := m.findings()
	if len(all) == 0 {
		return
	}
	fmt.Fprint(w, "| scenario | lock | property | verdict | expected | reason | "+againWords(all[0].run)+" |\n|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		reason := EscapeMarkdown(f.reason)
		if f.facts != "" {
			reason = strings.TrimSpace(reason + " (" + EscapeMarkdown(f.facts) + ")")
		}
		if also := f.alsoWords(); also != "" {
			reason = strings.TrimSpace(reason + "; " + EscapeMarkdown(also))
		}
		if f.of > 1 {
			reason = strings.TrimSpace(fmt.Sprintf("%s (%d of %d seeds: %s)", reason, len(f.seeds), f.of, seedList(f.seeds, 8)))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", EscapeMarkdown(english.Name(f.run.Scenario)), EscapeMarkdown(english.Name(f.run.Column())),
			EscapeMarkdown(f.property), EscapeMarkdown(f.got), EscapeMarkdown(f.want), reason, codeSpan(Replay(f.run)))
	}
	fmt.Fprintln(w)
	for _, f := range all {
		if len(f.tail) > 0 {
			fmt.Fprintf(w, "%s, %s: %s\n\n", EscapeMarkdown(english.Name(f.run.Scenario)), EscapeMarkdown(english.Name(f.run.Column())), EscapeMarkdown(f.reason))
			for _, line := range f.tail { // in an indented block everything is code
				fmt.Fprintf(w, "    %s\n", line)
			}
			fmt.Fprintln(w)
		}
	}
}

// markdownStory writes the story of the only run of a document.
func markdownStory(w *bufio.Writer, d Document, r *results.Run) {
	h, _ := d.history(*r)
	if h == nil {
		return
	}
	fmt.Fprint(w, "What happened:\n\n")
	for _, s := range story.Tell(story.NewFacts(h), r) {
		text := EscapeMarkdown(s.Text)
		if s.Bad {
			text = "**" + text + "**"
		}
		if !s.Gap {
			text = history.At(s.At) + " " + text
		}
		fmt.Fprintf(w, "- %s\n", text)
	}
	fmt.Fprintln(w)
}

// EscapeMarkdown escapes everything that GitHub would read as markup.
func EscapeMarkdown(s string) string {
	s = english.Clean(s)
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]|~#$", r), r == '!' && i+1 < len(s) && s[i+1] == '[':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '@':
			// A report must not notify anybody.
			b.WriteString("@<!-- -->")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// codeSpan formats s as code inside a table cell. It escapes bars even there, and
// its fence is longer than any run of backticks in s.
func codeSpan(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	s = strings.ReplaceAll(s, "|", `\|`)
	if longest > 0 {
		s = " " + s + " "
	}
	return fence + s + fence
}
