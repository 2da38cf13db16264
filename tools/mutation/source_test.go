package main

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

var loaded = sync.OnceValues(func() (*source, error) { return loadSource(context.Background(), ".") })

func load(t *testing.T) *source {
	t.Helper()
	s, err := loaded()
	must.Succeed(t, err)
	return s
}

// An id names one mutant, a listed operator makes each mutant, and every operator
// makes some. A rule that stopped working would raise the score.
func TestEveryOperatorMakesMutants(t *testing.T) {
	made, ids := map[string]int{}, map[string]bool{}
	for _, m := range load(t).Mutants {
		made[m.Operator]++
		if ids[m.ID] {
			t.Errorf("two mutants are called %s", m.ID)
		}
		ids[m.ID] = true
		if !strings.Contains(m.Diff, "- ") {
			t.Errorf("%s shows nothing of the original: %q", m.ID, m.Diff)
		}
	}
	for _, name := range operatorNames() {
		if made[name] == 0 {
			t.Errorf("no mutant is made by %s", name)
		}
		delete(made, name)
	}
	for name := range made {
		t.Errorf("operator %s is not listed", name)
	}
}

// A run must report that it uses a script. Otherwise no run seems to reach the mutants
// of the script, and none is played.
func TestEveryScriptSaysThatItIsUsed(t *testing.T) {
	s := load(t)
	used := make([]bool, len(s.Mutants)+1)
	for _, f := range s.files {
		for _, m := range regexp.MustCompile(`schemata\.Use\((\d+), (\d+), `).FindAllStringSubmatch(f.String(), -1) {
			first, _ := strconv.Atoi(m[1])
			last, _ := strconv.Atoi(m[2])
			for n := first; n <= last; n++ {
				used[n] = true
			}
		}
	}
	for _, m := range s.Mutants {
		if strings.HasSuffix(m.File, ".lua") && m.File != "lock/publish_sharded.lua" && !used[m.number] { // no simulated server is a cluster
			t.Errorf("no code says that it uses %s", m.ID)
		}
	}
}

// A reader could type the change of a diff. A diff that does not parse is not the
// mutant that the runs played.
func TestEveryDiffIsGo(t *testing.T) {
	s := load(t)
	for _, m := range s.Mutants {
		f := s.files[m.File]
		if f == nil {
			continue // a script, which its parser has accepted; or a file without a switch
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, m.at.apply(f.text), parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v\n%s", m.ID, err, m.Diff)
		}
	}
}

// The mutants must include the core of a release. Otherwise the score is about
// something else.
func TestTheCoreOfAReleaseIsChanged(t *testing.T) {
	for _, want := range []struct{ file, operator, diff string }{
		{"internal/textbook/release.lua", "lua-flip", "+ if redis.call('get', KEYS[1]) ~= ARGV[1] then\n"},
		{"internal/textbook/release.lua", "lua-drop", "+ return 0"},
		{"internal/textbook/set_px_check.go", "negate", "+ case holder == l.owner:\n"},
		{"internal/textbook/set_px_renew.go", "drop-defer", "- defer close(r.done)\n"},
		{"internal/textbook/set_px_renew.go", "boundary", "now.Sub(h.modified) > h.lease*2/3"},
		{"internal/textbook/textbook.go", "tenfold", "+ o.Lease = cmp.Or(max(o.Lease, 0), 10*(10*time.Second))\n"},
	} {
		if !slices.ContainsFunc(load(t).Mutants, func(m *Mutant) bool {
			return m.File == want.file && m.Operator == want.operator && strings.Contains(m.Diff, strings.TrimSpace(want.diff))
		}) {
			t.Errorf("no mutant of %s by %s shows %q", want.file, want.operator, want.diff)
		}
	}
}

// A user with only the binary must learn what is missing.
func TestNoSource(t *testing.T) {
	if _, err := loadSource(t.Context(), t.TempDir()); !errors.Is(err, errNoSource) {
		t.Errorf("outside of the module: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := loadSource(t.Context(), "."); !errors.Is(err, errNoSource) {
		t.Errorf("without go: %v", err)
	}
}

// A claim of equivalence is about the current text of a line. After a change of the line
// it would remove an unexamined mutant from the score.
func TestNotesAreAboutMutants(t *testing.T) {
	n, err := readNotes(notesFile)
	must.Succeed(t, err)
	s := load(t)
	for _, id := range n.stale(s.Mutants) {
		t.Errorf("%s is called equivalent, and there is no such mutant of that line", id)
	}
	if most := len(s.Mutants) * mostEquivalent / 100; len(n.Equivalent) > most {
		t.Errorf("%d mutants are called equivalent, at most %d may be", len(n.Equivalent), most)
	}
	for _, r := range n.Takes {
		if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(r.File))); err != nil {
			t.Errorf("a note is about %s: %v", r.File, err)
		}
	}
}
