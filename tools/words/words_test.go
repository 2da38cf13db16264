package main

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// Long sentences and clauses as subjects repel the readers of pages, of help and of errors.
func TestTheRepositoryReadsWell(t *testing.T) {
	found, err := check("../..")
	must.Succeed(t, err)
	for _, f := range found {
		t.Error(f)
	}
}

// The linter must find the faults that it is for, and nothing else.
func TestFindings(t *testing.T) {
	long := strings.Repeat("word ", 25)
	for text, want := range map[string]int{
		"A short sentence. " + strings.TrimSpace(long) + ".": 0,
		long + "; " + long:                                        0,
		long + "more.":                                            1,
		long + "more. " + long + "more.":                          2,
		"What it finds is shown.":                                 1,
		"What does it find?":                                      0,
		"Who waits is told. How much it costs is measured.":       2,
		"The lock says what it stores, and who holds it.":         0,
		"No. " + long + "e.g. more.":                              1,
		strings.Repeat("word ", 20) + "(see above). Another one.": 0,
	} {
		if got := findings(text); len(got) != want {
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
	src := "package p\nvar _ = errors.New(\"What is wrong\")\nvar _ = c{Long: `First.\n  indented\n\nSecond.`, Use: \"What\"}\nvar _ = usage(\"a \"+x+\" b\")\n"
	texts, err := source("p.go", []byte(src))
	if err != nil || len(texts) != 4 || texts[0].line != 2 || texts[1].words != "First." || texts[2].line != 6 || texts[3].words != "a X b" {
		t.Errorf("%+v, %v", texts, err)
	}
}
