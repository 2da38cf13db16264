package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Markdown writes the same as [Fidelity.Text] as GitHub tables, for the docs.
func (f Fidelity) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	t, all := newTwoWorlds(f), f.Differences()
	fmt.Fprintf(b, "%s.\n\n", t.summary())
	if len(t.all.scenarios) > 0 {
		t.markdownMatrix(b)
	}
	for i, d := range all {
		if i == 0 {
			fmt.Fprint(b, "| scenario | lock | property | sim | live | explanation |\n|---|---|---|---|---|---|\n")
		}
		why := "**unexplained**"
		if d.Explanation != "" {
			why = markdown(d.Explanation)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", markdown(name(d.Scenario)), markdown(name(d.Lock)), markdown(d.Property),
			markdown(worldWords(d.Sim)), markdown(worldWords(d.Live)), why)
	}
	if len(all) > 0 {
		fmt.Fprintln(b)
	}
	for i, u := range t.notInLive() {
		if i == 0 {
			fmt.Fprint(b, "Not run in the live world:\n\n")
		}
		fmt.Fprintf(b, "- %s, with %s: %s\n", markdown(english.And(u.Scenarios)), markdown(u.With()), markdown(u.Reason))
	}
	if len(t.notInLive()) > 0 {
		fmt.Fprintln(b)
	}
	for _, key := range t.stale(all) {
		fmt.Fprintf(b, "%s is explained, and there is no such difference.\n\n", markdown(key))
	}
	return b.Flush()
}

func (t *twoWorlds) markdownMatrix(w *bufio.Writer) {
	markdownGrid(w, t.all, t.markdownMark)
	fmt.Fprint(w, "; two marks: the simulator's and the live world's, where they differ on some property or only the simulator played it; in \\[brackets\\]: not explained.\n\n")
}

func (t *twoWorlds) markdownMark(scenario, lock string) string {
	sim, live, a := t.marks(scenario, lock)
	symbol := func(k mark) string { return cmp.Or(markdown(looks[k].symbol), "–") }
	switch a {
	case nowhere, agreed:
		return markdown(looks[max(sim, live)].symbol)
	case unexplained:
		return `**\[` + symbol(sim) + "/" + symbol(live) + `\]**`
	case onlySim:
		return symbol(sim) + "/–"
	}
	return symbol(sim) + "/" + symbol(live)
}
