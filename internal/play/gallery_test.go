package play_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// verdicts plays and judges a run.
func verdicts(t *testing.T, s *scenarios.Scenario, lock string, seed uint64) (map[checker.Property]checker.Verdict, string) {
	t.Helper()
	p, err := play.Simulate(s, locks.MustFind(lock), seed, "test")
	must.Succeed(t, err)
	r, err := checker.Judge(p.History, checker.Options{})
	if err != nil {
		t.Fatalf("%s with %s, seed %d: %v", s.Name, lock, seed, err)
	}
	return r.Verdicts, p.History.Hash()
}

// A judge or a scenario that has become too weak lets one of these through.
func TestEveryMutantIsCaught(t *testing.T) {
	asWorker(t)
	for _, m := range locks.Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			property := checker.Property(m.Property)
			s, err := scenarios.Find(m.Scenario)
			must.Succeed(t, err)
			if e := s.Expected(locks.MustFind(m.Name))[property]; e.Outcome != checker.OutcomeOK {
				t.Fatalf("%s expects %s to be %s: that proves nothing", s.Name, property, e.Outcome)
			}
			v, hash := verdicts(t, s, m.Name, 1)
			if got := v[property]; got.Outcome != checker.Violated || got.Reason == "" {
				t.Errorf("%s: %s is %+v, want violated", s.Name, property, got)
			}
			if _, again := verdicts(t, s, m.Name, 1); again != hash {
				t.Errorf("%s: the same seed gave two histories", s.Name)
			}
		})
	}
}

// The lock that a mutant is a variant of keeps the promise where the mutant
// breaks it: it is the mistake that is caught.
func TestWhatCatchesAMutantLetsItsBasePass(t *testing.T) {
	asWorker(t)
	type cell struct{ scenario, lock string }
	seen := map[cell]map[checker.Property]checker.Verdict{}
	for _, m := range locks.Mutants() {
		s, err := scenarios.Find(m.Scenario)
		must.Succeed(t, err)
		at := cell{m.Scenario, m.Of}
		if seen[at] == nil {
			seen[at], _ = verdicts(t, s, m.Of, 1)
		}
		if v := seen[at][checker.Property(m.Property)]; v.Outcome != checker.OutcomeOK {
			t.Errorf("%s, %s, with %s: %+v, want ok", m.Name, m.Scenario, m.Of, v)
		}
	}
}

func TestTheGalleryCoversAllCausesAndProperties(t *testing.T) {
	causes, properties := map[int]int{}, map[checker.Property]int{}
	for _, m := range locks.Mutants() {
		causes[m.Class]++
		properties[checker.Property(m.Property)]++
	}
	for c := 1; c < len(gallery.Causes); c++ {
		if causes[c] == 0 {
			t.Errorf("no mutant has the root cause %d, %s", c, gallery.Causes[c])
		}
	}
	for _, p := range checker.Properties() {
		if properties[p.Name] == 0 {
			t.Errorf("no mutant is caught by %s", p.Name)
		}
	}
}

// Mutants about fairness are variants of a lock that has to be right itself.
func TestFairQueueIsRight(t *testing.T) {
	asWorker(t)
	played := 0
	for _, s := range scenarios.Catalogue() {
		if ok, _ := s.Applies(locks.MustFind(gallery.FairQueue)); !ok {
			continue
		}
		played++
		v, _ := verdicts(t, s, gallery.FairQueue, 1)
		if _, judged := v[checker.Fairness]; !judged {
			t.Fatalf("%s: fairness is not judged", s.Name)
		}
		for property, e := range s.Expected(locks.MustFind(gallery.FairQueue)) {
			if got, judged := v[property]; judged && (got.Outcome != e.Outcome || e.Class != "" && got.Class != e.Class) {
				t.Errorf("%s: %s is %+v, want %s", s.Name, property, got, e.Outcome)
			}
		}
	}
	if played < 15 {
		t.Errorf("played in %d scenarios", played)
	}
}

func TestMutantsAreExpectedToBeTheirBase(t *testing.T) {
	builtIn := locks.Names()
	for _, m := range locks.Mutants() {
		for _, l := range builtIn {
			if m.Name == l {
				t.Errorf("%s is the name of a built-in lock", m.Name)
			}
		}
		for _, s := range scenarios.Catalogue() {
			of, reason := s.Applies(locks.MustFind(m.Of))
			if ok, why := s.Applies(locks.MustFind(m.Name)); ok != of || why != reason {
				t.Errorf("%s applies to %s: %t %q, to %s: %t %q", s.Name, m.Name, ok, why, m.Of, of, reason)
			}
		}
		if locks.MustFind(m.Name).Summary() != m.Mistake || locks.MustFind(m.Name).Groups != locks.MustFind(m.Of).Groups {
			t.Errorf("%s: %q on %d servers", m.Name, locks.MustFind(m.Name).Summary(), locks.MustFind(m.Name).Groups)
		}
	}
}
