package holdfast_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
)

var update = flag.Bool("update", false, "write the lists of faults and properties anew")

// otherMeanings are strings that equal the name of a fault and mean something
// else, by file or folder.
var otherMeanings = []struct{ in, word, means string }{
	{"checker/beliefs.go", "crash", "how a hold ended"},
	{"reports/", "crash", "how a hold ended, and a mark in a drawing"},
	{"internal/story/", "crash", "how a hold ended"},
	{"internal/traffic/message.go", "reset", "how a connection ended"},
	{"internal/live/servers/cluster.go", "failover", "a command of Redis"},
	{"internal/live/servers/sentinel.go", "failover", "a command of Sentinel"},
	{"internal/adapter/", "cancel", "a request of the adapter protocol"},
	{"internal/live/conform/", "cancel", "a request of the adapter protocol"},
	{"internal/live/conform/", "pause", "a check of the adapter protocol"},
	{"internal/testworker/", "cancel", "a request of the adapter protocol"},
	{"scenarios/catalogue.go", "", "names of scenarios"},
	{"internal/selftest/variation_catalogue.go", "", "names of scenarios"},
}

// A package that names a fault is a list that the author of the next fault forgets. All
// facts about a fault stand in its file in faults/.
func TestOnlyFaultsKnowsFaultsByName(t *testing.T) {
	var names []string
	for _, k := range faults.Vocabulary() {
		names = append(names, k.Name)
	}
	met := map[int]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (other == nil || path == "faults" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			word, err := strconv.Unquote(lit.Value)
			if err != nil || !slices.Contains(names, word) {
				return true
			}
			for i, o := range otherMeanings {
				if strings.HasPrefix(path, o.in) && (o.word == "" || o.word == word) {
					met[i] = true
					return true
				}
			}
			t.Errorf("%s: %q is the name of a fault: ask for a trait, or say it at the fault in faults/", set.Position(lit.Pos()), word)
			return true
		})
		return nil
	})
	must.Succeed(t, err)
	for i, o := range otherMeanings {
		if !met[i] {
			t.Errorf("%s does not have %q any more: take the exception out", o.in, o.word)
		}
	}
}

// The guide and the schema of scenarios list every fault; -update writes them.
func TestFaultsAreListed(t *testing.T) {
	listed(t, "docs/faults.md", func(text string) string {
		const begin, end = "-update -->\n", "<!-- end -->"
		head, rest, ok := strings.Cut(text, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !ok || !ended {
			t.Fatal("the marks of the list are gone")
		}
		list := "| fault | strikes | parameters | what happens |\n|---|---|---|---|\n"
		for _, k := range faults.Vocabulary() {
			params := k.ParamNames()
			if k.Lasts {
				params = append([]string{"for"}, params...)
			}
			list += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Name, k.Targets(), strings.Join(params, ", "), k.Summary)
		}
		return head + begin + list + end + tail
	})
	listed(t, "scenarios/scenario.schema.json", func(text string) string {
		words := map[string][]string{}
		for _, k := range faults.Vocabulary() {
			words["fault"] = append(words["fault"], k.Name)
			for _, p := range k.Params {
				for _, w := range p.Words {
					if !slices.Contains(words[p.Name], w) {
						words[p.Name] = append(words[p.Name], w)
					}
				}
			}
		}
		for key, all := range words {
			enum := regexp.MustCompile(`("` + key + `": \{\s+"enum": \[\s+)"[^\]]*"`)
			text = enum.ReplaceAllString(text, `${1}"`+strings.Join(all, "\",\n            \"")+`"`)
		}
		return text
	})
}

// README and the schema of scenarios list every property; -update writes them.
func TestPropertiesAreListed(t *testing.T) {
	var rows, expected []string
	for _, p := range checker.Properties() {
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", p.Name, p.Promise))
		verdicts := append([]string{string(checker.OutcomeOK), string(checker.Violated), string(checker.Unknown)}, p.Classes...)
		for _, v := range verdicts[1:] {
			verdicts = append(verdicts, v+" or ok")
		}
		expected = append(expected, fmt.Sprintf(`            "%s": { "enum": ["%s"] }`, p.Name, strings.Join(verdicts, `", "`)))
	}
	for path, list := range map[string]struct{ pattern, items string }{
		"README.md":                      {`(\| property \| promise \|\n\|---\|---\|\n)(?:\| .*\n)*()`, strings.Join(rows, "")},
		"scenarios/scenario.schema.json": {`(?s)("verdicts": \{[^{}]*"properties": \{\n).*?(\n {10}\},)`, strings.Join(expected, ",\n")},
	} {
		listed(t, path, func(text string) string {
			place := regexp.MustCompile(list.pattern)
			if !place.MatchString(text) {
				t.Fatalf("%s has no place for the list", path)
			}
			return place.ReplaceAllString(text, "${1}"+list.items+"${2}")
		})
	}
}

// listed checks that a file is as its list makes it.
func listed(t *testing.T, path string, anew func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must.Succeed(t, err)
	want := anew(string(text))
	if want == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s is not as its list makes it: go test . -run %s -update", path, t.Name())
		return
	}
	must.Succeed(t, os.WriteFile(path, []byte(want), 0o644))
}
