package checker

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/holdfast-go/holdfast/history"
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
		judges                Judges
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
		o := Options{Judges: c.judges, Budget: time.Minute, fast: ruled(says(c.fast)), porcupine: says(c.porcupine)}
		called := func(j judge) judge {
			return func([]lockOp, rules, time.Duration) Outcome {
				t.Errorf("%+v: the other judge was asked", c)
				return Unknown
			}
		}
		switch c.judges {
		case FastOnly:
			o.porcupine = called(o.porcupine)
		case PorcupineOnly:
			o.fast = ruled(called(nil))
		}
		d, dispute := newCourt(o).decide(ops, rules{})
		if (dispute != nil) != c.dispute || d.outcome != c.want || d.note != c.note {
			t.Errorf("%+v: got %s %q, %v", c, d.outcome, d.note, dispute)
		}
	}
}

// A wrong judge is found out, and the error has a history that shows it.
func TestDisagreement(t *testing.T) {
	// This judge takes every release for the end of all holds.
	blind := func(ops []lockOp, r rules, budget time.Duration) ruling {
		ops = slices.Clone(ops)
		for i := range ops {
			if ops[i].kind == gotLock {
				ops[i].count = 1
			}
		}
		return fastRuling(ops, r, budget)
	}
	h := longRun{ops: 2_000}.history()
	r, err := Judge(h, Options{fast: blind})
	var dispute *DisagreementError
	if !errors.As(err, &dispute) {
		t.Fatalf("got %v", err)
	}
	if v := r.Verdicts[Linearizable]; v.Outcome != Unknown || v.Reason == "" {
		t.Errorf("disputed verdict %+v", v)
	}
	if dispute.Fast != Violated || dispute.Porcupine != Good || dispute.Lock != "stock-1" || len(dispute.Ops) == 0 {
		t.Errorf("%+v", dispute)
	}
	if want := `the judges disagree on lock "stock-1": fast says violated, porcupine ok, operations [`; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %s", err)
	}
	// A nested acquire shows it; without one before it, it is illegal, and then
	// it is this judge that does not mind.
	if len(dispute.Listing) != 1 || !strings.Contains(dispute.Listing[0], "acquire, count 2, lease 1000000000 ns; called ") {
		t.Errorf("listing:\n%s", strings.Join(dispute.Listing, "\n"))
	}
	if dispute.Minimal == nil {
		t.Fatal("no history")
	}
	var b bytes.Buffer
	if err := history.Encode(&b, dispute.Minimal); err != nil {
		t.Fatal(err)
	}
	again, err := history.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(again, Options{fast: blind}); !errors.As(err, &dispute) {
		t.Errorf("the minimal history shows nothing: %v", err)
	}
}

// A long illegal history, on which porcupine alone would not end, is decided,
// and porcupine confirms it on the cause.
func TestBothDecideLongIllegal(t *testing.T) {
	for _, lease := range []int64{forever, 3600 * second} {
		began := time.Now()
		var asked []int
		o := Options{Budget: 20 * time.Second, porcupine: func(ops []lockOp, r rules, budget time.Duration) Outcome {
			got := frugalPorcupine(ops, r, budget)
			if got != Unknown {
				asked = append(asked, len(ops))
			}
			return got
		}}
		d, err := newCourt(o).decide(busyLock(20_000, lease, true), rules{})
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
	c := newCourt(Options{Budget: time.Minute})
	d, err := c.decide(ops, rules{})
	want := fmt.Sprintf("; porcupine looked at the first %d of %d operations", len(beginning(ops, porcupineOps)), len(ops))
	if err != nil || d.outcome != Good || d.note != "decided by the fast judge"+want {
		t.Errorf("got %+v, %v", d, err)
	}
	c.judges = PorcupineOnly
	if d, _ := c.decide(ops, rules{}); d.outcome != Unknown || !strings.Contains(d.why, "porcupine takes 20000 operations at once") {
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
		c := choice{map[int32]bool{}, map[int]bool{}}
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
