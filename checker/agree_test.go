package checker

import (
	"errors"
	"testing"
	"time"
)

func TestAgree(t *testing.T) {
	for _, c := range []struct {
		fast, porcupine, want Outcome
		dispute               bool
	}{
		{Good, Good, Good, false},
		{Good, Unknown, Good, false},
		{Violated, Violated, Violated, false},
		{Violated, Unknown, Violated, false},
		{Unknown, Good, Good, false},
		{Unknown, Violated, Violated, false},
		{Unknown, Unknown, Unknown, false},
		{Good, Violated, Good, true},
		{Violated, Good, Violated, true},
	} {
		d, err := agree("stock", decision{ruling{outcome: c.fast, ops: []int64{3, 4}, why: "because"}, byFast}, c.porcupine)
		var dispute *DisagreementError
		if errors.As(err, &dispute) != c.dispute || d.outcome != c.want {
			t.Errorf("%+v: got %s, %v", c, d.outcome, err)
		}
		if dispute == nil {
			continue
		}
		want := `the judges disagree on lock "stock": fast says ` + string(c.fast) + ", porcupine " + string(c.porcupine) + ", operations [3 4]: because"
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
		if v := d.disputed(); v.Outcome != Unknown || v.Reason == "" {
			t.Errorf("disputed verdict %+v", v)
		}
	}
}

// A long illegal history, on which porcupine alone would not end, is decided.
func TestBothDecideLongIllegal(t *testing.T) {
	began := time.Now()
	d, err := byBoth("stock", busyLock(20_000, forever, true), rules{}, began.Add(20*time.Second))
	if err != nil || d.outcome != Violated || len(d.ops) == 0 {
		t.Errorf("got %+v, %v", d.ruling, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
