package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

var update = flag.Bool("update", false, "write the table of words in CONTRIBUTING.md anew")

// Long sentences and clauses as subjects repel the readers of pages, of help and of errors.
func TestTheRepositoryReadsWell(t *testing.T) {
	found, err := check("../..")
	must.Succeed(t, err)
	for _, f := range found {
		t.Error(f)
	}
}

// Authors read the table of words in CONTRIBUTING.md, and the linter has the same.
func TestContributingHasTheTable(t *testing.T) {
	const name, begin, end = "../../CONTRIBUTING.md", "<!-- begin words -->\n\n", "\n<!-- end words -->"
	page, err := os.ReadFile(name)
	must.Succeed(t, err)
	head, rest, begun := strings.Cut(string(page), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatal("the marks of the table are gone")
	}
	want := head + begin + markdownTable() + end + tail
	if *update {
		must.Succeed(t, os.WriteFile(name, []byte(want), 0o644))
	} else if want != string(page) {
		t.Error("CONTRIBUTING.md has another table (go test ./words -run Table -update writes it)")
	}
}

// A word of the table is wrong where its pattern matches, and right elsewhere.
func TestWordsHaveOneMeaning(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       int
	}{
		{"sim/link.go", "The network holds it back.", 1},
		{"sim/link.go", "The network keeps it back. A hold ends.", 0},
		{"sim/link.go", "A worker waits.", 1},
		{"internal/suite/workers/pool.go", "A worker plays runs.", 0},
		{"faults/schedule.go", "The timeline strikes.", 1},
		{"reports/timeline.go", "The timeline has a lane for each client.", 0},
		{"internal/gallery/own.go", "A ghost renews.", 1},
		{"checker/beliefs.go", "A ghost is left.", 0},
		{"locktest/run.go", "The subject of the test.", 1},
		{"locktest/run.go", "Two clients' claims overlap.", 1},
		{"locktest/run.go", "The lock claims fairness.", 0},
	} {
		if got := findings(c.file, c.text); len(got) != c.want {
			t.Errorf("%s: %q: %q, want %d findings", c.file, c.text, got, c.want)
		}
	}
}

// The linter must find the faults that it is for, and nothing else.
func TestFindings(t *testing.T) {
	long := strings.Repeat("word ", 25)
	for text, want := range map[string]int{
		"A short sentence. " + strings.TrimSpace(long) + ".": 0,
		long + "; " + long:               0,
		long + "more.":                   1,
		long + "more. " + long + "more.": 2,
		"What it finds is shown.":        1,
		"What does it find?":             0,
		"Who waits gets a notice. How much it costs is measured.": 2,
		"A reply is what a server sends.":                         1,
		"Is that how a lock works?":                               0,
		"Nobody knows. Whoever asks is told.":                     5,
		"The lock says what it stores, and who holds it.":         0,
		"No. " + long + "e.g. more.":                              1,
		strings.Repeat("word ", 20) + "(see above). Another one.": 0,
	} {
		if got := findings("p.go", text); len(got) != want {
			t.Errorf("%q: %q, want %d findings", text, got, want)
		}
	}
	page := "# What a heading is\n\nA [link to\na page](to.md) and `some code`.\n\n    What code is\n\n- one\n  item\n- two\n\n| cell | What |\n<!-- begin x -->\nWhat is written\n<!-- end x -->\n"
	var got []string
	for _, p := range markdown(page) {
		got = append(got, strings.Join(strings.Fields(p.words), " "))
	}
	if want := "A link to a page and code.|one item|two|cell|What"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	src := "package p // nobody\nvar _ = errors.New(\"What is wrong\")\nvar _ = c{Long: `First.\n  indented\n\nSecond.`, Use: \"What\"}\nvar _ = usage(\"a \"+x+\" b\")\n"
	texts, err := source("p.go", []byte(src))
	if err != nil || len(texts) != 5 || texts[1].line != 2 || texts[2].words != "First." || texts[3].line != 6 || texts[4].words != "a X b" || texts[0] != (prose{1, " nobody"}) {
		t.Errorf("%+v, %v", texts, err)
	}
}
