package faults

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Without the effects and the end of a fault, a judge could excuse everything
// after it.
func TestEveryFaultSaysWhatItCanDo(t *testing.T) {
	for _, k := range Vocabulary() {
		if k.Summary == "" || strings.HasSuffix(k.Summary, ".") {
			t.Errorf("%s: its summary is %q, not one line without a full stop", k.Name, k.Summary)
		}
		if k.Traits == nil {
			t.Errorf("%s has no traits", k.Name)
			continue
		}
		for what, traits := range map[string]history.Traits{"no parameters": k.Traits(Spec{Fault: k.Name}), "unknown parameters": k.Possible()} {
			if !traits.Known() {
				t.Errorf("%s with %s: traits need exactly one of Instant and Lasts", k.Name, what)
			}
			if (traits == history.Traits{Instant: traits.Instant, Lasts: traits.Lasts}) {
				t.Errorf("%s with %s does nothing", k.Name, what)
			}
		}
		if p := k.Possible(); p.Promotes && !p.BreaksConnections {
			t.Errorf("%s redirects clients, and breaks no connection", k.Name)
		}
		if s := k.Sweep; s != nil && (s.Param == "" || s.Summary == "" || s.Label == "" || !strings.Contains(s.Noun, "%s") || s.Set == nil) {
			t.Errorf("%s: its sweep is not whole", k.Name)
		}
	}
}

// The effects of a fault depend on how it strikes.
func TestTraitsDependOnParameters(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		has  func(history.Traits) bool
	}{
		{Spec{Fault: "node-restart", Data: "lose"}, func(t history.Traits) bool { return t.LosesWrites }},
		{Spec{Fault: "node-restart", Data: "keep"}, func(t history.Traits) bool { return !t.LosesWrites }},
		{Spec{Fault: "failover"}, func(t history.Traits) bool { return t.StopsNode && !t.Forks }},
		{Spec{Fault: "failover", Mode: "isolate"}, func(t history.Traits) bool { return t.Forks && !t.StopsNode }},
		{Spec{Fault: "failover", Mode: "planned"}, func(t history.Traits) bool { return !t.Forks && !t.StopsNode }},
		{Spec{Fault: "partition", Direction: "to-node"}, func(t history.Traits) bool { return t.HoldsRequests && !t.HoldsReplies }},
		{Spec{Fault: "delay", Direction: "to-client"}, func(t history.Traits) bool { return !t.HoldsRequests && t.HoldsReplies }},
		{Spec{Fault: "clock-jump", By: -sec}, func(t history.Traits) bool { return t.ClockJump == -int64(sec) }},
		{Spec{Fault: "clock-drift", Rate: 1.5}, func(t history.Traits) bool { return t.ClockRate == 1.5 }},
	} {
		if traits := TraitsOf(tt.spec); !tt.has(traits) {
			t.Errorf("%+v: %+v", tt.spec, traits)
		}
	}
}

// Judges can still judge histories from the time before traits.
func TestRecall(t *testing.T) {
	start := func(id int, name, detail string) history.Event {
		return history.Event{Kind: history.Fault, Fault: &history.FaultEvent{ID: id, Name: name, Phase: PhaseStart, Detail: detail}}
	}
	given := history.Traits{Lasts: true, Cancels: true}
	h := history.Header{Faults: []history.PlannedFault{
		{ID: 1, Fault: "failover"}, {ID: 2, Fault: "failover"}, {ID: 3, Fault: "node-restart"}, {ID: 4, Fault: "node-restart"},
		{ID: 5, Fault: "meteor", Traits: given},
	}}
	was := h.Faults[0]
	if err := Recall(&h, []history.Event{
		start(1, "failover", "node-1-replica-1 promoted, node-1 follows it"),
		start(3, "node-restart", "node-1 restarted with its data"),
		start(9, "pause", ""),
	}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int]history.Traits{
		1: TraitsOf(Spec{Fault: "failover", Mode: "planned"}),
		2: {Instant: true, Promotes: true, Forks: true, LosesWrites: true, ForgetsScripts: true, StopsNode: true, Refuses: true, BreaksConnections: true},
		3: TraitsOf(Spec{Fault: "node-restart", Data: "keep"}),
		4: TraitsOf(Spec{Fault: "node-restart", Data: "lose"}),
		5: given,
		9: TraitsOf(Spec{Fault: "pause"}),
	} {
		for _, f := range h.Faults {
			if f.ID == id && f.Traits != want {
				t.Errorf("fault %d: %+v, want %+v", id, f.Traits, want)
			}
		}
	}
	if len(h.Faults) != 6 || was.Traits.Known() {
		t.Errorf("%d faults", len(h.Faults))
	}
	if err := Recall(&history.Header{Faults: []history.PlannedFault{{ID: 1, Fault: "meteor"}}}, nil); err == nil || !strings.Contains(err.Error(), "meteor") {
		t.Errorf("a fault that nobody knows: %v", err)
	}
}
