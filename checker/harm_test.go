package checker

import "testing"

// A report says what a violation means for the users of the lock, whatever property it
// violates.
func TestEveryPropertyHasAHarm(t *testing.T) {
	for _, p := range properties {
		if p.harm == nil {
			t.Errorf("%s does not say what its violation means", p.Name)
			continue
		}
		h := HarmOf(map[Property]Verdict{p.Name: {Outcome: Violated}})
		if h == NoHarm || h.String() == "" || h.Remedy() == "" {
			t.Errorf("a violation of %s means %q, and the remedy is %q", p.Name, h, h.Remedy())
		}
	}
}

// The worst harm counts, and two properties together may be worse than each.
func TestTheWorstHarmCounts(t *testing.T) {
	violated := Verdict{Outcome: Violated}
	outlived := Verdict{Outcome: Violated, Class: LeaseOutlived}
	for _, tt := range []struct {
		verdicts map[Property]Verdict
		want     Harm
	}{
		{map[Property]Verdict{Exclusion: {Outcome: OutcomeOK}}, NoHarm},
		{map[Property]Verdict{Exclusion: violated, Progress: violated}, TwoHolders},
		{map[Property]Verdict{Exclusion: outlived, Fencing: violated}, TwoHoldersPastLease},
		{map[Property]Verdict{Progress: violated, Errors: violated}, freeLockUnused},
		{map[Property]Verdict{Progress: violated, Cleanup: violated, Fencing: violated}, Deadlock},
	} {
		if got := HarmOf(tt.verdicts); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.verdicts, got, tt.want)
		}
	}
}
