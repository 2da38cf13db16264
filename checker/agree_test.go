package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// says is a judge that always says the same.
func says(o Outcome) judge { return func([]lockOp, rules, time.Duration) Outcome { return o } }

// ruled makes a judge a fast one.
func ruled(j judge) func([]lockOp, rules, time.Duration) ruling {
	return func(ops []lockOp, r rules, budget time.Duration) ruling {
		return ruling{outcome: j(ops, r, budget), ops: []int64{1}, why: "because"}
	}
}

// Whoever decides is right, unless both do and differ.
func TestTwoJudges(t *testing.T) {
	ops := busyLock(20, forever, false)
	for _, c := range []struct {
		choice                Choice
		fast, porcupine, want Outcome
		dispute               bool
		note                  string
	}{
		{BothJudges, Good, Good, Good, false, ""},
		{BothJudges, Good, Unknown, Good, false, byFastAlone},
		{BothJudges, Violated, Violated, Violated, false, ""},
		{BothJudges, Violated, Unknown, Violated, false, byFastAlone},
		{BothJudges, Unknown, Good, Good, false, byPorcupineAlone},
		{BothJudges, Unknown, Violated, Violated, false, byPorcupineAlone},
		{BothJudges, Unknown, Unknown, Unknown, false, ""},
		{BothJudges, Good, Violated, Good, true, ""},
		{BothJudges, Violated, Good, Violated, true, ""},
		{FastOnly, Violated, Good, Violated, false, ""},
		{FastOnly, Unknown, Good, Unknown, false, ""},
		{PorcupineOnly, Violated, Good, Good, false, ""},
		{PorcupineOnly, Good, Unknown, Unknown, false, ""},
		{PorcupineOnly, Good, Violated, Violated, false, ""},
	} {
		j := newCourt(c.choice, time.Minute)
		j.fast, j.porcupine = ruled(says(c.fast)), says(c.porcupine)
		called := func([]lockOp, rules, time.Duration) Outcome {
			t.Errorf("%+v: the other judge was asked", c)
			return Unknown
		}
		switch c.choice {
		case FastOnly:
			j.porcupine = called
		case PorcupineOnly:
			j.fast = ruled(called)
		}
		d, dispute := j.decide(ops, rules{})
		if (dispute != nil) != c.dispute || d.outcome != c.want || d.note != c.note {
			t.Errorf("%+v: got %s %q, %v", c, d.outcome, d.note, dispute)
		}
	}
}

// A long illegal history, on which porcupine alone would not end, is decided,
// and porcupine confirms it on the cause.
func TestBothDecideLongIllegal(t *testing.T) {
	for _, lease := range []int64{forever, 3600 * ls} {
		began := time.Now()
		var asked []int
		j := newCourt(BothJudges, 20*time.Second)
		j.porcupine = func(ops []lockOp, r rules, budget time.Duration) Outcome {
			got := frugalPorcupine(ops, r, budget)
			if got != Unknown {
				asked = append(asked, len(ops))
			}
			return got
		}
		d, err := j.decide(busyLock(20_000, lease, true), rules{})
		if err != nil || d.outcome != Violated || len(d.ops) == 0 || d.note != "" {
			t.Errorf("got %+v, %v", d, err)
		}
		if len(asked) == 0 || asked[0] > 20 {
			t.Errorf("porcupine decided on %d operations", asked)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
	}
}

// Of more than porcupine can take it is shown the beginning, and the verdict
// says so.
func TestPorcupineLooksAtABeginning(t *testing.T) {
	ops := busyLock(porcupineOps+5_000, forever, false)
	j := newCourt(BothJudges, time.Minute)
	d, err := j.decide(ops, rules{})
	want := fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(beginning(ops, porcupineOps)), len(ops))
	if err != nil || d.outcome != Good || d.note != "decided by the fast judge"+want {
		t.Errorf("got %+v, %v", d, err)
	}
	j = newCourt(PorcupineOnly, time.Minute)
	if d, _ := j.decide(ops, rules{}); d.outcome != Unknown || !strings.Contains(d.why, "porcupine takes 20000 operations at once") {
		t.Errorf("got %+v", d)
	}
}

// A slice leaves nothing out that a legal history needs.
func TestSlicesOfLegalAreLegal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	legal, left := 0, 0
	for range rounds(t, 20_000) {
		m := randomMix(r)
		ops := simulated(r, m, 1+r.IntN(5), 1+r.IntN(6), 0)
		slices.SortStableFunc(ops, byCall)
		if len(ops) == 0 || bySearch(ops, m.rules(), time.Second).outcome != Good {
			continue
		}
		legal++
		s := newSlicer(ops, m.rules())
		c := selection{map[int32]bool{}, map[int]bool{}}
		for i := range ops {
			switch {
			case r.IntN(3) > 0:
			case ops[i].kind == foundBusy || ops[i].kind == inspected && !m.loose:
				c.alone[i] = true
			case s.unit[i] != noUnit:
				c.units[s.unit[i]] = true
			}
		}
		few := s.build(c)
		left += len(ops) - len(few)
		if v := bySearch(few, m.rules(), time.Second); v.outcome == Violated {
			t.Fatalf("%+v: legal:%s\nthe slice is not: %s%s", m, listing(ops), v.why, listing(few))
		}
	}
	if legal < 1000 || left < legal {
		t.Errorf("%d legal histories, %d operations left out", legal, left)
	}
}
