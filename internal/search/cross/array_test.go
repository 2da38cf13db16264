package cross

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Every pair of values that go together is in some row of every built-in lock.
func TestEveryPairIsCovered(t *testing.T) {
	for _, name := range locks.Names() {
		a := New(locks.MustFind(name), 1, 1000)
		t.Logf("%s: %d rows cover %d pairs; %d pairs or values have no row", name, a.Cover, a.Covered, len(a.Infeasible))
		if a.Covered != a.Pairs || a.Cover == 0 {
			t.Errorf("%s: %d of %d pairs are covered", name, a.Covered, a.Pairs)
		}
	}
}

// So is every pair without a fault in some of the workloads in which faults are placed.
func TestWorksHaveEveryPair(t *testing.T) {
	for _, name := range locks.Names() {
		l := locks.MustFind(name)
		rows := Works(l)
		met := map[string]bool{}
		for _, s := range rows {
			features := strings.Split(strings.TrimPrefix(s.Title, "Crossed"), "; ")[1:]
			for i, x := range features {
				for _, y := range features[i+1:] {
					met[x+" and "+y] = true
				}
			}
			if len(s.Faults) > 0 {
				t.Errorf("%s: %s has a fault", name, s.Title)
			}
		}
		for _, pair := range []string{"owners two and names a prefix", "owners three and work past the lease", "names two, rivals with a shorter lease and wait of a rival none"} {
			if !met[pair] {
				t.Errorf("%s: no workload has %s", name, pair)
			}
		}
		if n := len(rows); n < 10 || n > 40 {
			t.Errorf("%s has %d workloads", name, n)
		}
	}
}

// The rows are the same each time, and no two of them are alike. Each is a file that
// reads as itself.
func TestRowsRepeat(t *testing.T) {
	l := locks.MustFind("reentrant")
	first, again, seen := New(l, 1, 500), New(l, 1, 600), map[string]bool{}
	calm, more := 0, again.Rows[again.Cover:]
	for _, s := range more {
		if !strings.Contains(s.Title, "; fault ") {
			calm++
		}
	}
	if calm < len(more)/5 || calm > len(more)/2 {
		t.Errorf("%d of the %d rows after the last pair have no fault; it should be a third", calm, len(more))
	}
	for i, s := range first.Rows {
		text, err := s.YAML()
		must.Succeed(t, err)
		same, err := again.Rows[i].YAML()
		must.Succeed(t, err)
		if string(text) != string(same) {
			t.Fatalf("row %d differs in a longer array:\n%s\n%s", i, text, same)
		}
		if seen[s.Title] {
			t.Errorf("two rows are %s", s.Title)
		}
		seen[s.Title] = true
		if _, err = scenarios.Parse(s.Name, text); err != nil {
			t.Errorf("%v", err)
		}
	}
}
