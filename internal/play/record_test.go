package play

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
)

// note is an event that a test recognizes.
func note(text string) history.Event {
	return history.Event{Kind: history.Log, Log: &history.LogEvent{Server: "node-1", Text: text}}
}

func texts(events []history.Event) []string {
	var all []string
	for _, e := range events {
		if e.Log != nil {
			all = append(all, e.Log.Text)
		}
	}
	return all
}

// A judge that does not know of the close would accuse the lock: it refuses those who wait.
func TestACrashCutsACloseShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(time.Now())
		time.Sleep(10 * time.Millisecond)
		r.closing("client-1")
		r.crashing("client-1")(nil) // within the same instant
		r.End(history.EndEvent{}, 30*time.Millisecond)
		if e := r.Events[0]; e.F != history.Crashed || e.Result == nil || e.Result.Since != e.Time {
			t.Errorf("the crash is told as %+v", e)
		}
	})
}

// Servers report their events after clients have reported what they saw of them. In the
// history each event stands where it happened.
func TestLateAccountsComeInTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := NewRecorder(begin)
		at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
		r.AddAt(note("before the run"), at(-5))
		time.Sleep(10 * time.Millisecond)
		r.Add(note("at 10"))
		r.AddAt(note("at 10, told later"), at(10))
		r.AddAt(note("at 7"), at(7))
		r.AddAt(note("at 3"), at(3))
		r.AddAt(note("at 7, told later"), at(7))
		r.crashing("client-1")(nil)
		r.AddAt(history.Event{Kind: history.Server, Client: "", Server: &history.ServerEvent{Node: "node-1", By: "client-1"}}, at(9))
		r.AddAt(note("after the end"), at(40))
		r.End(history.EndEvent{}, 30*time.Millisecond)
		r.AddAt(note("told when it was over"), at(8))
		if d := cmp.Diff([]string{"before the run", "at 3", "at 7", "at 7, told later", "at 10", "at 10, told later", "after the end"}, texts(r.Events)); d != "" {
			t.Error(d)
		}
		last := int64(0)
		for _, e := range r.Events {
			if e.Time < last {
				t.Errorf("%s is at %d, after %d", e.Kind, e.Time, last)
			}
			last = e.Time
		}
		if e := r.Events[len(r.Events)-1]; e.Kind != history.End || e.Time != int64(40*time.Millisecond) {
			t.Errorf("the history ends with %s at %s", e.Kind, time.Duration(e.Time))
		}
		if r.Events[0].Time != 0 {
			t.Errorf("the history begins at %d", r.Events[0].Time)
		}
	})
}

func TestSettledIsWhatNobodyWillTellMoreOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := NewRecorder(begin)
		at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
		for _, ms := range []int{5, 1, 3, 9} {
			r.AddAt(note(at(ms).Format(".000")), at(ms))
		}
		if d := cmp.Diff([]string{".001", ".003"}, texts(r.Settled(0, at(5)))); d != "" {
			t.Error(d)
		}
		r.AddAt(note(".004"), at(4))
		if d := cmp.Diff([]string{".004", ".005"}, texts(r.Settled(2, at(6)))); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{".009"}, texts(r.Settled(4, at(60)))); d != "" {
			t.Error(d)
		}
		if got := r.Settled(5, at(60)); len(got) != 0 {
			t.Errorf("there is more: %v", got)
		}
	})
}

// A lock may state a validity that makes no sense. That is the lock's mistake, and the
// history of it is a valid one.
func TestAValidityOutsideOfTheHistoryIsRecorded(t *testing.T) {
	begin := time.Now()
	r := NewRecorder(begin)
	for _, c := range []struct {
		name  string
		until time.Time
		want  int64
	}{
		{"none", time.Time{}, 0},
		{"within the run", begin.Add(time.Second), int64(time.Second)},
		{"before the run", begin.AddDate(-100, 0, 0), 1},
		{"in 400 years", begin.AddDate(400, 0, 0), history.LongestTime},
	} {
		if got := r.sinceStart(c.until); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
