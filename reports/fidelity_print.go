package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Text writes three parts for a terminal. They are the matrix of both worlds, every
// difference with its explanation, and the reasons for runs that the live world did not
// play.
func (f Fidelity) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	t, all := newTwoWorlds(f), f.differences()
	if len(t.all.scenarios) > 0 {
		textGrid(t.all, lineWidth, t.textMark).Write(b)
		t.textLegend(b)
	}
	for i, d := range all {
		if i == 0 {
			fmt.Fprint(b, "Differences:\n\n")
		}
		fmt.Fprintf(b, "  %s, %s: %s\n", english.Name(d.Scenario), english.Name(d.Lock), english.Clean(d.Property))
		writeWrapped(b, "    ", "sim: "+worldWords(d.Sim))
		writeWrapped(b, "    ", "live: "+worldWords(d.Live))
		why := "[unexplained]"
		if d.Explanation != "" {
			why = "explained: " + english.Clean(d.Explanation)
		}
		writeWrapped(b, "    ", why)
		fmt.Fprintln(b)
	}
	textUnplayed(b, "Not run in the live world", t.notInLive())
	for _, key := range t.stale(all) {
		fmt.Fprintf(b, "%s is explained, and there is no such difference.\n\n", key)
	}
	fmt.Fprintln(b, t.summary())
	return b.Flush()
}

// textMark is one mark if the worlds agree, and both otherwise.
func (t *twoWorlds) textMark(scenario, lock string) string {
	sim, live, a := t.marks(scenario, lock)
	switch a {
	case nowhere, agreed:
		return looks[max(sim, live)].ascii
	case unexplained:
		return "[" + both(looks[sim].ascii, looks[live].ascii) + "]"
	}
	return both(looks[sim].ascii, looks[live].ascii)
}

// both are two marks; a world that has none gets a dash.
func both(sim, live string) string {
	return cmp.Or(strings.TrimSpace(sim), "-") + "/" + cmp.Or(strings.TrimSpace(live), "-")
}

func (t *twoWorlds) textLegend(w *bufio.Writer) {
	seen := map[mark]bool{}
	for _, s := range t.all.scenarios {
		for _, l := range t.all.locks {
			sim, live, _ := t.marks(s, l)
			seen[sim], seen[live] = true, true
		}
	}
	for _, k := range legend {
		if seen[k] {
			fmt.Fprintf(w, "%6s  %s\n", looks[k].ascii, looks[k].meaning)
		}
	}
	n := t.counts()
	if n[onlySim]+n[explained]+n[unexplained] > 0 {
		fmt.Fprintf(w, "%6s  the simulator and the live world differ on some property, or only the simulator played it\n", "a/b")
	}
	if n[unexplained] > 0 {
		fmt.Fprintf(w, "%6s  in brackets: not explained\n", "[ ]")
	}
	fmt.Fprintln(w)
}

// worldWords states the verdict of one world on a property.
func worldWords(v checker.Verdict) string {
	if v.Outcome == "" {
		return english.Clean(v.Reason)
	}
	words := verdictWords(v.Outcome, v.Class)
	if reason := english.Clean(v.Reason); reason != "" {
		words += ": " + reason
	}
	return words
}

// summary counts pairs of scenario and lock.
func (t *twoWorlds) summary() string {
	n := t.counts()
	return fmt.Sprintf("%s of scenario and lock in both worlds: %d agree, %d differ and are explained, %d differ unexplained; %d in the simulator only",
		english.Count(n[agreed]+n[explained]+n[unexplained], "pair"), n[agreed], n[explained], n[unexplained], n[onlySim])
}

// Markdown writes the same as [Fidelity.Text] as GitHub tables, for the docs.
func (f Fidelity) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	t, all := newTwoWorlds(f), f.differences()
	fmt.Fprintf(b, "%s.\n\n", t.summary())
	if len(t.all.scenarios) > 0 {
		markdownGrid(b, t.all, t.markdownMark)
		fmt.Fprint(b, "; two marks: the simulator's and the live world's, where they differ on some property or only the simulator played it; in \\[brackets\\]: not explained.\n\n")
	}
	for i, d := range all {
		if i == 0 {
			fmt.Fprint(b, "| scenario | lock | property | sim | live | explanation |\n|---|---|---|---|---|---|\n")
		}
		why := "**unexplained**"
		if d.Explanation != "" {
			why = EscapeMarkdown(d.Explanation)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", EscapeMarkdown(english.Name(d.Scenario)), EscapeMarkdown(english.Name(d.Lock)), EscapeMarkdown(d.Property),
			EscapeMarkdown(worldWords(d.Sim)), EscapeMarkdown(worldWords(d.Live)), why)
	}
	if len(all) > 0 {
		fmt.Fprintln(b)
	}
	for i, u := range t.notInLive() {
		if i == 0 {
			fmt.Fprint(b, "Not run in the live world:\n\n")
		}
		fmt.Fprintf(b, "- %s, with %s: %s\n", EscapeMarkdown(english.And(u.Scenarios)), EscapeMarkdown(u.With()), EscapeMarkdown(u.Reason))
	}
	if len(t.notInLive()) > 0 {
		fmt.Fprintln(b)
	}
	for _, key := range t.stale(all) {
		fmt.Fprintf(b, "%s is explained, and there is no such difference.\n\n", EscapeMarkdown(key))
	}
	return b.Flush()
}

func (t *twoWorlds) markdownMark(scenario, lock string) string {
	sim, live, a := t.marks(scenario, lock)
	symbol := func(k mark) string { return cmp.Or(EscapeMarkdown(looks[k].symbol), "–") }
	switch a {
	case nowhere, agreed:
		return EscapeMarkdown(looks[max(sim, live)].symbol)
	case unexplained:
		return `**\[` + symbol(sim) + "/" + symbol(live) + `\]**`
	}
	return symbol(sim) + "/" + symbol(live)
}
