package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// says is a judge that always says the same.
func says(o Outcome) judge {
	return func([]Op, Rules, time.Duration) Outcome { return o }
}

// ruled makes a judge a fast one.
func ruled(j judge) func([]Op, Rules, time.Duration) Ruling {
	return func(ops []Op, r Rules, budget time.Duration) Ruling {
		return Ruling{Outcome: j(ops, r, budget), Ops: []int64{1}, Why: "because"}
	}
}

// A judge that decides is right, unless both do and differ.
func TestTwoJudges(t *testing.T) {
	ops := busyLock(20, Forever, false)
	for _, c := range []struct {
		choice                Choice
		fast, porcupine, want Outcome
		dispute               bool
		note                  string
	}{
		{Both, OutcomeOK, OutcomeOK, OutcomeOK, false, ""},
		{Both, OutcomeOK, Unknown, OutcomeOK, false, byFastAlone},
		{Both, Violated, Violated, Violated, false, ""},
		{Both, Violated, Unknown, Violated, false, byFastAlone},
		{Both, Unknown, OutcomeOK, OutcomeOK, false, byPorcupineAlone},
		{Both, Unknown, Violated, Violated, false, byPorcupineAlone},
		{Both, Unknown, Unknown, Unknown, false, ""},
		{Both, OutcomeOK, Violated, OutcomeOK, true, ""},
		{Both, Violated, OutcomeOK, Violated, true, ""},
		{FastOnly, Violated, OutcomeOK, Violated, false, ""},
		{FastOnly, Unknown, OutcomeOK, Unknown, false, ""},
		{PorcupineOnly, Violated, OutcomeOK, OutcomeOK, false, ""},
		{PorcupineOnly, OutcomeOK, Unknown, Unknown, false, ""},
		{PorcupineOnly, OutcomeOK, Violated, Violated, false, ""},
	} {
		j := NewJudges(c.choice, time.Minute)
		j.Fast, j.porcupine = ruled(says(c.fast)), says(c.porcupine)
		called := func([]Op, Rules, time.Duration) Outcome {
			t.Errorf("%+v: the other judge was asked", c)
			return Unknown
		}
		switch c.choice {
		case FastOnly:
			j.porcupine = called
		case PorcupineOnly:
			j.Fast = ruled(called)
		}
		d, dispute := j.Decide(ops, Rules{})
		if (dispute != nil) != c.dispute || d.Outcome != c.want || d.Note != c.note {
			t.Errorf("%+v: got %s %q, %v", c, d.Outcome, d.Note, dispute)
		}
	}
}

// A long illegal history, on which porcupine alone would not end, is decided,
// and porcupine confirms it on the cause.
func TestBothDecideLongIllegal(t *testing.T) {
	for _, lease := range []int64{Forever, 3600 * second} {
		began := time.Now()
		var asked []int
		j := NewJudges(Both, 20*time.Second)
		j.porcupine = func(ops []Op, r Rules, budget time.Duration) Outcome {
			got := frugalPorcupine(ops, r, budget)
			if got != Unknown {
				asked = append(asked, len(ops))
			}
			return got
		}
		d, err := j.Decide(busyLock(20_000, lease, true), Rules{})
		if err != nil || d.Outcome != Violated || len(d.Ops) == 0 || d.Note != "" {
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
	ops := busyLock(porcupineOps+5_000, Forever, false)
	j := NewJudges(Both, time.Minute)
	d, err := j.Decide(ops, Rules{})
	want := fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(beginning(ops, porcupineOps)), len(ops))
	if err != nil || d.Outcome != OutcomeOK || d.Note != "decided by the fast judge"+want {
		t.Errorf("got %+v, %v", d, err)
	}
	j = NewJudges(PorcupineOnly, time.Minute)
	if d, _ := j.Decide(ops, Rules{}); d.Outcome != Unknown || !strings.Contains(d.Why, "porcupine takes 20000 operations at once") {
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
		if len(ops) == 0 || Search(ops, m.rules(), time.Second).Outcome != OutcomeOK {
			continue
		}
		legal++
		s := newSlicer(ops, m.rules())
		c := selection{map[int32]bool{}, map[int]bool{}}
		for i := range ops {
			switch {
			case r.IntN(3) > 0:
			case ops[i].Kind == FoundBusy || ops[i].Kind == Inspected && !m.loose:
				c.alone[i] = true
			case s.unit[i] != noUnit:
				c.units[s.unit[i]] = true
			}
		}
		few := s.buildSlice(c)
		left += len(ops) - len(few)
		if v := Search(few, m.rules(), time.Second); v.Outcome == Violated {
			t.Fatalf("%+v: legal:%s\nthe slice is not: %s%s", m, listing(ops), v.Why, listing(few))
		}
	}
	if legal < 1000 || left < legal {
		t.Errorf("%d legal histories, %d operations left out", legal, left)
	}
}
