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
		{Spec{Fault: "half-open", Mode: "silent"}, func(t history.Traits) bool { return t.Instant }},
		{Spec{Fault: "deny"}, func(t history.Traits) bool { return t.LosesNotices && !t.RefusesGrants }},
		{Spec{Fault: "deny", Mode: "memory"}, func(t history.Traits) bool { return !t.LosesNotices && t.RefusesGrants }},
		{Spec{Fault: "clock-jump", By: -sec}, func(t history.Traits) bool { return t.ClockJump == -int64(sec) }},
		{Spec{Fault: "clock-jump", Target: Names{"client-1"}, By: sec}, func(t history.Traits) bool { return t.MovesClientClock && !t.MovesClock }},
		{Spec{Fault: "clock-drift", Target: Names{"primary"}, Rate: 2}, func(t history.Traits) bool { return !t.MovesClientClock && t.MovesClock }},
		{Spec{Fault: "clock-drift", Rate: 1.5}, func(t history.Traits) bool { return t.ClockRate == 1.5 }},
	} {
		if traits := tt.spec.Traits(); !tt.has(traits) {
			t.Errorf("%+v: %+v", tt.spec, traits)
		}
	}
}
