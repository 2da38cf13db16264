package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// A client's wall clock may jump and drift, and none of its monotonic readings shows that.
func TestTheClockOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{Clients: 2, Groups: 1})
		defer w.Close()
		p, other := w.Process("client-1"), w.Process("client-2")
		start := p.Now()
		if start == start.Round(0) || !start.Round(0).Equal(time.Now()) {
			t.Errorf("it begins with %v", start)
		}
		check := func(what string, elapsed, off time.Duration) {
			t.Helper()
			if got := p.Now().Sub(start); got != elapsed {
				t.Errorf("%s: %v have passed, want %v", what, got, elapsed)
			}
			now := time.Now()
			if got := p.Now().Round(0).Sub(now); got != off {
				t.Errorf("%s: its wall clock is %v ahead, want %v", what, got, off)
			}
		}
		set := func(jump time.Duration, rate float64) {
			t.Helper()
			if err := w.SetClock("client-1", jump, rate); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		check("a true clock", time.Second, 0)
		set(time.Hour, 1)
		check("an hour ahead", time.Second, time.Hour)
		if deadline := start.Add(2 * time.Second); p.Now().After(deadline) {
			t.Error("a deadline with a monotonic reading has passed by a jump")
		}
		set(0, 1.5)
		time.Sleep(10 * time.Second)
		check("a fast clock", 11*time.Second, time.Hour+5*time.Second)
		set(-2*time.Hour, 1)
		check("set back", 11*time.Second, -time.Hour+5*time.Second)
		if !other.Now().Round(0).Equal(time.Now()) {
			t.Error("the clock of another client has moved")
		}
		if err := w.SetClock("client-3", time.Hour, 1); err == nil {
			t.Error("the clock of nobody was set")
		}
	})
}
