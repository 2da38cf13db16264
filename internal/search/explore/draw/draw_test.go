package draw_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func find(t *testing.T, name string) *locks.Lock {
	t.Helper()
	l, err := locks.Find(name)
	must.Succeed(t, err)
	return l
}

func vocabulary(t *testing.T, survivable bool) draw.Vocabulary {
	t.Helper()
	v, err := draw.NewVocabulary(nil, nil, survivable)
	must.Succeed(t, err)
	return v
}

func file(t *testing.T, s *scenarios.Scenario) []byte {
	t.Helper()
	src, err := s.YAML()
	must.Succeed(t, err)
	return src
}

// Whatever is drawn must be a file that holdfast run takes with the lock, and
// the same one whenever it is drawn.
func TestDrawIsAnOrdinaryScenario(t *testing.T) {
	holes := draw.Coverage{}.Holes(draw.Names())
	v := vocabulary(t, false)
	every := uint64(nightly.Every(5))
	for _, name := range locks.Names() {
		l := find(t, name)
		drawn := map[string]int{}
		for seed := range uint64(500) {
			s, err := draw.Scenario(l, seed, v, holes)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			for _, f := range s.Faults {
				drawn[f.Fault]++
			}
			if seed%every != 0 {
				continue
			}
			src := file(t, s)
			read, err := scenarios.Parse(s.Name+".yaml", src)
			if err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, src)
			}
			if diff := cmp.Diff(s, read); diff != "" {
				t.Fatalf("%s, seed %d: its file reads as another scenario:\n%s", name, seed, diff)
			}
			if ok, why := s.Applies(l); !ok {
				t.Fatalf("%s, seed %d: %s\n%s", name, seed, why, src)
			}
			if seed%(2*every) == 0 {
				again, err := draw.Scenario(l, seed, v, holes)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				if diff := cmp.Diff(s, again); diff != "" {
					t.Fatalf("%s, seed %d: drawn twice:\n%s", name, seed, diff)
				}
			}
		}
		for _, f := range draw.Names() {
			if drawn[f] == 0 {
				t.Errorf("%s: %s never comes", name, f)
			}
		}
	}
}

// A survivable scenario must not have what the reference lock cannot survive.
func TestDrawSurvivable(t *testing.T) {
	for _, name := range []string{"reentrant", "fair"} {
		l := find(t, name)
		for seed := range uint64(500) {
			s, err := draw.Scenario(l, seed, vocabulary(t, true), nil)
			must.Succeed(t, err)
			for _, f := range s.Faults {
				switch {
				case f.Fault == "failover", f.Fault == "clock-jump", f.Fault == "clock-drift", f.Fault == "delete-key", f.Data == "lose",
					f.Fault == "pause" && f.For > s.Workload.Lease/2,
					f.Fault == "pause" && name == "fair" && f.For > 500_000_000: // of a place that was handed the lock
					t.Fatalf("seed %d of %s has %s:\n%s", seed, name, f.Fault, file(t, s))
				}
			}
		}
	}
}
