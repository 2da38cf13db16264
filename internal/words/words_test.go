package words

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

const root = "../.."

// Nothing repels readers sooner than long sentences.
func TestPagesReadWell(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	libraries, _ := filepath.Glob(root + "/docs/findings/*.md")
	pages = append(pages, libraries...)
	if err != nil || len(libraries) == 0 {
		t.Fatal(libraries, err)
	}
	tables, err := filepath.Glob(root + "/docs/tables/*.md")
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, page := range append(slices.Concat(pages, tables), root+"/README.md", root+"/ARCHITECTURE.md", root+"/CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		must.Succeed(t, err)
		for _, p := range Markdown(string(text)) {
			for _, f := range Findings(p.Text) {
				t.Errorf("%s:%d: %s", strings.TrimPrefix(page, root+"/"), p.Line, f)
			}
		}
	}
}

// Readers of an error are in trouble, and readers of help are in a hurry.
func TestHelpAndErrorsReadWell(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "adapters", "examples", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts, err := Source(path, src)
		if err != nil {
			return err
		}
		files++
		for _, p := range texts {
			for _, f := range Findings(p.Text) {
				t.Errorf("%s:%d: %s", strings.TrimPrefix(path, root+"/"), p.Line, f)
			}
		}
		return nil
	})
	must.Succeed(t, err)
	if files < 100 {
		t.Errorf("only %d files were read", files)
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
		if got := Findings(text); len(got) != want {
			t.Errorf("%q: %q, want %d findings", text, got, want)
		}
	}
	page := "# What a heading is\n\nA [link to\na page](to.md) and `some code`.\n\n    What code is\n\n- one\n  item\n- two\n\n| cell | What |\n<!-- begin x -->\nWhat is written\n<!-- end x -->\n"
	var got []string
	for _, p := range Markdown(page) {
		got = append(got, strings.Join(strings.Fields(p.Text), " "))
	}
	if want := "A link to a page and code.|one item|two|cell|What"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	src := "package p\nvar _ = errors.New(\"What is wrong\")\nvar _ = c{Long: `First.\n  indented\n\nSecond.`, Use: \"What\"}\nvar _ = usage(\"a \"+x+\" b\")\n"
	texts, err := Source("p.go", []byte(src))
	if err != nil || len(texts) != 4 || texts[0].Line != 2 || texts[1].Text != "First." || texts[2].Line != 6 || texts[3].Text != "a X b" {
		t.Errorf("%+v, %v", texts, err)
	}
}
