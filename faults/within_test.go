package faults

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A drawn moment differs for every seed and every fault, is the same for the same
// seed, and varies over the whole allowed time.
func TestWithinIsDrawnByTheSeed(t *testing.T) {
	at := 2 * sec
	spec := Spec{Fault: "pause", Target: Names{"client-1"}, At: &at, After: sec, Within: 4 * sec, For: sec}
	drawnFor := func(seed uint64) (first, second Duration) {
		t.Helper()
		sc, err := NewSchedule([]Spec{spec, spec}, Topology{Clients: 1, Groups: 1}, seed)
		must.Succeed(t, err)
		return sc.entries[0].spec.After, sc.entries[1].spec.After
	}
	quarters := [4]int{}
	for seed := range uint64(400) {
		a, b := drawnFor(seed)
		if again, _ := drawnFor(seed); a != again {
			t.Fatalf("seed %d draws %s, then %s", seed, time.Duration(a), time.Duration(again))
		}
		if a == b {
			t.Errorf("seed %d draws the same for both faults", seed)
		}
		if a < sec || a >= 5*sec {
			t.Fatalf("seed %d draws %s, not from 1s to 5s", seed, time.Duration(a))
		}
		quarters[(a-sec)/sec]++
	}
	for i, n := range quarters {
		if n < 70 || n > 130 {
			t.Errorf("quarter %d has %d of 400 moments", i+1, n)
		}
	}
}

func TestWithinBelowZero(t *testing.T) {
	at := sec
	if _, err := NewSchedule([]Spec{{Fault: "pause", Target: Names{"client-1"}, At: &at, Within: -1}}, Topology{Clients: 1, Groups: 1}, 1); err == nil {
		t.Error("a negative time is accepted")
	}
}
