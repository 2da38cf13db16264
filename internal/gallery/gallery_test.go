package gallery

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

func TestEveryMutantSaysWhatItIs(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	seen := map[string]bool{}
	for _, m := range All() {
		if !kebab.MatchString(m.Name) || seen[m.Name] {
			t.Errorf("%q is no name, or not the only one", m.Name)
		}
		seen[m.Name] = true
		if behaves := slices.ContainsFunc(behaviours, func(o openings) bool { return o[m.Name] != nil }); !behaves && len(m.edits) == 0 {
			t.Errorf("%s is as its original", m.Name)
		}
		if m.Of == "" || m.Class < 1 || m.Class >= len(Causes) {
			t.Errorf("%s: incomplete: %+v", m.Name, m)
		}
		for what, text := range map[string]string{"mistake": m.Mistake, "shipped": m.Shipped} {
			if text == "" || strings.ContainsAny(text, "\n\t") {
				t.Errorf("%s: %s is %q", m.Name, what, text)
			}
		}
		if found, ok := Find(m.Name); !ok || found.Name != m.Name {
			t.Errorf("Find(%q) finds %q", m.Name, found.Name)
		}
	}
	for _, o := range behaviours {
		for name := range o {
			if !seen[name] {
				t.Errorf("mutants.yaml has no %s", name)
			}
		}
	}
	if _, ok := Find("reentrant"); ok {
		t.Error("Find finds a lock that is no mutant")
	}
}

func TestMutantsAreInOrder(t *testing.T) {
	inOrder := slices.IsSortedFunc(All(), func(a, b Mutant) int {
		if a.Class != b.Class {
			return a.Class - b.Class
		}
		return strings.Compare(a.Name, b.Name)
	})
	if !inOrder {
		t.Error("not by class and name")
	}
}

// A script that has changed must not turn its mutants into no mutants.
func TestEveryEditChangesItsScript(t *testing.T) {
	files, err := filepath.Glob("../../lock/*.lua")
	if err != nil || len(files) < 5 {
		t.Fatalf("scripts: %v, %v", files, err)
	}
	more, err := filepath.Glob("../textbook/*.lua")
	must.Succeed(t, err)
	source := map[string]string{FairQueue: fairTake}
	for _, file := range append(files, more...) {
		b, err := os.ReadFile(file)
		must.Succeed(t, err)
		token, err := os.ReadFile("../../lock/token.lua")
		must.Succeed(t, err)
		source[scriptOf(string(b))] = string(token) + string(b)
	}
	for _, m := range All() {
		for _, e := range m.edits {
			src, ok := source[scriptNames[e.Script]]
			if !ok {
				t.Fatalf("%s: no script says %q", m.Name, e.Script)
			}
			if code(e.apply(src)) == code(src) { // panics when the piece is not there
				t.Errorf("%s leaves %q as it is", m.Name, e.Script)
			}
		}
	}
}

// code is a script without its comments.
func code(src string) string {
	return regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(src, "")
}
