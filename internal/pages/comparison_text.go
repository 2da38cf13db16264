package pages

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// answer says in one line what the comparison comes to.
func (d *Comparison) answer() string {
	if len(d.Runs) == 0 {
		words := fmt.Sprintf("Nothing differs: %s, with the same verdicts", english.Count(d.Same, "run"))
		switch {
		case d.Same == 0:
			return "Nothing differs: neither directory has a run."
		case d.Unstored == d.Same:
			return words + ". No history is stored, so their events cannot be compared."
		case d.Unstored > 0:
			return words + fmt.Sprintf(" and the same events; of %d no history is stored.", d.Unstored)
		}
		return words + " and the same events."
	}
	counts := map[Change]int{}
	for _, r := range d.Runs {
		counts[r.Change]++
	}
	var parts []string
	for _, c := range changes {
		if n := counts[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, changeTitles[c]))
		}
	}
	return fmt.Sprintf("%s not the same: %s. The same: %d.", english.Count(len(d.Runs), "run"), strings.Join(parts, ", "), d.Same)
}

var changeTitles = map[Change]string{
	Regression: "worse", Missing: "missing", Other: "changed", Improvement: "better", New: "new", Events: "with other events and the same verdicts",
}

func (r *Pair) title() string {
	lock := r.Lock
	if r.User != "" {
		lock += " (" + r.User + ")"
	}
	return fmt.Sprintf("%s, %s, seed %d", input.Plain(r.Scenario), input.Plain(lock), r.Seed)
}

func (r *Pair) lines() []string {
	var all []string
	for _, v := range r.Verdicts {
		line := fmt.Sprintf("%s: %s, was %s", v.Property, v.After, v.Before)
		if v.Reason != "" {
			line += ": " + input.Plain(v.Reason)
		}
		all = append(all, line)
	}
	if e := r.First; e != nil {
		all = append(all, fmt.Sprintf("the histories part at line %d, at %.3f s", e.Line, e.AtMS/1000),
			"  before: "+input.Plain(e.Before), "  after:  "+input.Plain(e.After))
	}
	for _, m := range []struct {
		name string
		ms   *[2]float64
	}{{"time with two holders", r.OverlapMS}, {"median hand-off", r.HandoffMS}} {
		if m.ms != nil {
			all = append(all, fmt.Sprintf("%s: %.1f ms, was %.1f ms", m.name, m.ms[1], m.ms[0]))
		}
	}
	if r.Note != "" {
		all = append(all, input.Plain(r.Note))
	}
	return all
}

func (s *comparedSide) words() string {
	words := fmt.Sprintf("%s: holdfast %s", input.Plain(s.Dir), input.Plain(s.Version))
	if s.Made != nil {
		for _, part := range []string{s.Made.Build, s.Made.Date} {
			if part != "" {
				words += ", " + input.Plain(part)
			}
		}
	}
	return words
}

// Text prints what differs for a terminal.
func (d *Comparison) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "before  %s\nafter   %s\n\n", d.Before.words(), d.After.words())
	last := Change("")
	for i := range d.Runs {
		r := &d.Runs[i]
		if r.Change != last {
			fmt.Fprintf(&b, "%s:\n\n", strings.ToUpper(changeTitles[r.Change][:1])+changeTitles[r.Change][1:])
			last = r.Change
		}
		fmt.Fprintf(&b, "  %s\n", r.title())
		for _, line := range r.lines() {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		b.WriteString("\n")
	}
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "%-5s finding: %s, %s\n", f.State, input.Plain(f.Lock), input.Plain(f.Identity))
	}
	fmt.Fprintln(&b, d.answer())
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown prints what differs for a pull request.
func (d *Comparison) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\nBefore: %s. After: %s.\n\n", reports.EscapeMarkdown(d.answer()), reports.EscapeMarkdown(d.Before.words()), reports.EscapeMarkdown(d.After.words()))
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "- %s finding: %s, %s\n", f.State, reports.EscapeMarkdown(f.Lock), reports.EscapeMarkdown(f.Identity))
	}
	if len(d.Runs) > 0 {
		b.WriteString("\n| run | change | what differs |\n|---|---|---|\n")
	}
	for i := range d.Runs {
		r := &d.Runs[i]
		lines := english.Words(r.lines(), func(line string) string { return reports.EscapeMarkdown(strings.TrimSpace(line)) })
		fmt.Fprintf(&b, "| %s | %s | %s |\n", reports.EscapeMarkdown(r.title()), r.Change, strings.Join(lines, "<br>"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// HTML writes what differs as a page, with the pictures of both sides of every run whose
// verdicts changed.
func (d *Comparison) HTML(w io.Writer) error {
	p := page{
		Kind: "comparison", Asked: "What did the change alter?", Answer: d.answer(), Tone: good, Heading: "Runs",
		Bound: []string{"Before: " + d.Before.words(), "After: " + d.After.words()},
	}
	p.setTone(d.Regressed(), len(d.Runs) > 0)
	for i := range d.Runs {
		r := &d.Runs[i]
		f := find{Key: fmt.Sprintf("run-%d", i+1), Title: r.title() + ": " + changeTitles[r.Change], Texts: []text{{Body: strings.Join(r.lines(), "\n")}}}
		for _, s := range []struct {
			name, dir string
			run       *results.Run
		}{{"before", d.Before.Dir, r.before}, {"after", d.After.Dir, r.after}} {
			if len(r.Verdicts) == 0 || s.run == nil {
				continue
			}
			if h, err := readHistory(suite.Dir(s.dir), s.run); err == nil {
				drawing, caption := reports.Draw(h, s.run)
				f.Pictures = append(f.Pictures, picture{Title: s.name, Caption: caption, Drawing: drawing})
				f.Command = "holdfast report " + s.dir
			}
		}
		p.Finds = append(p.Finds, f)
	}
	return p.writeHTML(w)
}
