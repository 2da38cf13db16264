package play_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/traffic"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// watchedRun is a run, and what there was to see of it.
type watchedRun struct {
	*play.Played
	Seen *play.Seen
}

func watched(t *testing.T, scenario, lock string, look play.Watch) watchedRun {
	t.Helper()
	s, err := scenarios.Find(scenario)
	must.Succeed(t, err)
	p, seen, err := play.SimulateWatched(s, locks.MustFind(lock), 1, "test", look)
	must.Succeed(t, err)
	return watchedRun{p, seen}
}

func TestLookingChangesNoHistory(t *testing.T) {
	for _, run := range [][2]string{
		{"failover-lost-write", "set-px-lua"}, {"holder-pause", "reentrant"}, {"holder-crash", "reentrant"},
		{"lost-acquire-reply", "reentrant"}, {"lost-unlock-message", "reentrant"}, {"cluster-failover", "reentrant"}, {"slow-subscribe", "reentrant"},
	} {
		t.Run(run[0], func(t *testing.T) {
			plain := watched(t, run[0], run[1], play.Watch{})
			if plain.Seen != nil {
				t.Error("something was seen though nobody looked")
			}
			want := plain.History.Hash()
			traced := watched(t, run[0], run[1], play.Watch{Messages: true})
			if traced.History.Hash() != want {
				t.Error("another history with a trace")
			}
			if p := watched(t, run[0], run[1], play.Watch{Moments: true}); p.History.Hash() != want || len(p.Seen.Moments) == 0 {
				t.Errorf("another history, or none of the moments, with %d moments", len(p.Seen.Moments))
			}
			again := watched(t, run[0], run[1], play.Watch{Messages: true})
			if !slices.Equal(inJSON(t, traced.Seen.Messages), inJSON(t, again.Seen.Messages)) {
				t.Error("two traces of one run differ")
			}
			events := plain.History.Events
			for i := 0; i < len(events)-1; i += 1 + len(events)/6 {
				p := watched(t, run[0], run[1], play.Watch{Stop: &play.Stop{Event: &events[i]}})
				if p.History.Hash() != want {
					t.Errorf("another history when stopped at line %d", i+2)
				}
				stoppedAt(t, p, events, i)
			}
		})
	}
}

// stoppedAt checks that a run was looked at when an event had been recorded.
func stoppedAt(t *testing.T, p watchedRun, events []history.Event, i int) {
	t.Helper()
	state := p.Seen.State
	if state == nil {
		t.Fatalf("line %d never came", i+2)
	}
	if int64(state.At) != events[i].Time {
		t.Errorf("line %d: stopped at %v, want %v", i+2, state.At, time.Duration(events[i].Time))
	}
	n := len(state.Events)
	if n <= i || n >= len(events) || !slices.Equal(inJSON(t, state.Events), inJSON(t, events[:n])) {
		t.Errorf("line %d: the %d events until then are not those of the history", i+2, n)
	}
}

func inJSON[T any](t *testing.T, all []T) []string {
	t.Helper()
	var out []string
	for _, x := range all {
		b, err := json.Marshal(x)
		must.Succeed(t, err)
		out = append(out, string(b))
	}
	return out
}

func TestEveryMessageHasAFate(t *testing.T) {
	p := watched(t, "lost-unlock-message", "reentrant", play.Watch{Messages: true})
	fates := map[string]int{}
	for _, m := range p.Seen.Messages {
		fates[m.Fate]++
		if m.Fate == traffic.Dropped && m.Kind != traffic.Push {
			t.Errorf("%s %q was dropped, which the fault does to pub/sub messages only", m.Kind, m.Text)
		}
		if m.Fate == traffic.Arrived && m.Ended.Sub(m.Sent) > time.Second {
			t.Errorf("%s %q took %v, and nothing held it", m.Kind, m.Text, m.Ended.Sub(m.Sent))
		}
	}
	if fates[traffic.Arrived] == 0 || fates[traffic.Dropped] == 0 {
		t.Errorf("fates: %v", fates)
	}
}

func TestStateAtATime(t *testing.T) {
	p := watched(t, "holder-pause", "reentrant", play.Watch{Stop: &play.Stop{At: 5 * time.Second}})
	s := p.Seen.State
	if s == nil || s.At != 5*time.Second {
		t.Fatalf("state %+v", s)
	}
	c := s.Clients[0]
	if !c.Paused || len(c.Believes) != 1 || c.Believes[0].Owner != "client-1/1" {
		t.Errorf("client-1: %+v, want it paused and believing that it holds the lock", c)
	}
	if doing := s.Clients[1].Doing; len(doing) != 1 || doing[0].F != history.Acquire {
		t.Errorf("client-2 does %+v, want an acquire", doing)
	}
	if len(s.Holders) == 0 || s.Holders[0].Owner != "client-1/1" {
		t.Errorf("holders %+v", s.Holders)
	}
	if !slices.ContainsFunc(s.Goroutines, func(g string) bool { return strings.Contains(g, "TryLock") }) {
		t.Errorf("no goroutine waits in TryLock: %q", s.Goroutines)
	}
}

func TestAMomentThatNeverComes(t *testing.T) {
	p := watched(t, "contention", "reentrant", play.Watch{Stop: &play.Stop{At: 1000 * time.Hour}})
	if p.Seen == nil || p.Seen.State != nil {
		t.Errorf("saw %+v", p.Seen)
	}
	if end := p.History.Events[len(p.History.Events)-1].End; len(end.Goroutines) > 0 {
		t.Errorf("left behind: %q", end.Goroutines)
	}
}
