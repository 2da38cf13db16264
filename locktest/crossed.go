package locktest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/cross"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// defaultCrossed is the number of crossed workloads that Run plays for a lock. Several
// primaries are slow to play.
func defaultCrossed(l *locks.Lock) int { return 1000 / (l.Groups * l.Groups) }

// crossed plays crossed workloads. A subtest fails for each cause of a violation that the
// lock could have avoided. It plays nothing if the caller chose the scenarios, or if the
// lock failed in the catalogue, which tells most mistakes in fewer words.
func (r *runner) crossed(t *testing.T, known []Known) {
	n := r.options.crossed
	if n < 0 {
		n = defaultCrossed(r.tested)
		if testing.Short() {
			n /= 10
		}
	}
	if n == 0 || len(r.options.scenarios) > 0 || len(r.runs) == 0 || t.Failed() {
		return
	}
	t.Run("crossed", func(t *testing.T) { r.playCrossed(t, cross.New(r.tested, 1, n), known) })
}

func (r *runner) playCrossed(t *testing.T, rows cross.Array, known []Known) {
	one := *r
	one.t, one.runs = t, nil
	e := &explorer{runner: &one, found: finds{}}
	plan := suite.Plan{Options: suite.Options{World: e, Seeds: 1, Users: suite.BothUsers, Dir: runDir(t), Command: again(t, r.options.seed)}}
	files := map[string]string{}
	for _, s := range rows.Rows {
		text, err := s.YAML()
		if err != nil {
			t.Fatalf("a defect of holdfast: %v", err)
		}
		files[s.Name] = string(text)
		if err := plan.Add(suite.Source{Scenario: s, Text: text}, []*locks.Lock{r.tested}, r.options.seed); err != nil {
			t.Fatalf("locktest: %v", err)
		}
	}
	_, err := plan.Play(t.Context())
	switch {
	case e.fatal != "":
		t.Fatal(e.fatal)
	case err != nil:
		t.Fatalf("locktest: %v", err)
	}
	for _, f := range e.found.distinct() {
		if isKnown(f.Cause, known) {
			t.Logf("known: %s, in %d workloads", f.Cause, f.count)
			continue
		}
		t.Run(f.Key(), func(t *testing.T) {
			path := filepath.Join(string(e.dir), f.in.Name+".yaml")
			if err := os.WriteFile(path, []byte(files[f.in.Name]), 0o644); err != nil {
				t.Errorf("keep the workload: %v", err)
			}
			t.Error(f.saysCrossed(again(one.t, r.options.seed), path))
		})
	}
	if len(rows.Rows) >= defaultCrossed(r.tested) {
		e.found.outdated(t, known)
	}
	t.Logf("%d crossed workloads have %d of the %d pairs of features that go together; %d workloads have all", len(rows.Rows), rows.Covered, rows.Pairs, rows.Cover)
}

// outdated fails the test for each known violation that no crossed workload shows.
func (all finds) outdated(t *testing.T, known []Known) {
	for _, k := range known {
		shown := func(f *find) bool { return isKnown(f.Cause, []Known{k}) }
		if k.Scenario == crossedName && !k.Sometimes && !slices.ContainsFunc(slices.Collect(maps.Values(all)), shown) {
			t.Errorf("Known has %s in crossed workloads, and none shows that any more: remove the entry (%q)", k.Property, k.Because)
		}
	}
}

// saysCrossed tells a find, how to see it again, and the entry that makes it a known one.
func (f *find) saysCrossed(again, path string) string {
	entry := fmt.Sprintf("{Scenario: %q, Property: %q", crossedName, f.Property)
	if f.Class != "" {
		entry += fmt.Sprintf(", Class: %q", f.Class)
	}
	return fmt.Sprintf("%s: %s\nruns:   %d, the first is %s: %s\nagain:  %s\nalone:  locktest.Run with locktest.Files(%q)\nknown:  %s, Faults: %#v, Because: \"...\"}",
		f.Cause, f.reason, f.count, f.in.Name, strings.TrimPrefix(f.in.Title, "Crossed; "), again, path, entry, f.Faults)
}

// crossedName is the scenario of a known violation that crossed workloads show.
const crossedName = "crossed"

// inCatalogue are the known violations that scenarios of the catalogue show.
func inCatalogue(known []Known) []Known {
	return slices.DeleteFunc(slices.Clone(known), func(k Known) bool { return k.Scenario == crossedName })
}

// isKnown reports whether a cause is a known violation: after the same faults, or after
// those of the scenario that shows it.
func isKnown(c search.Cause, known []Known) bool {
	return slices.ContainsFunc(known, func(k Known) bool {
		hazards := k.Faults
		if k.Scenario != crossedName {
			s, err := scenarios.Find(k.Scenario)
			if err != nil || len(s.Faults) == 0 {
				return false
			}
			hazards = search.Hazards(s.Faults)
		}
		return search.Cause{Property: k.Property, Class: cmp.Or(k.Class, c.Class), Faults: hazards}.Explains(c)
	})
}
