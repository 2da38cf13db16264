// Package search has the common part of the searches. It has the causes by which they
// group violations, and the document, the directory and the merging of their results.
package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Cause is a violation and its possible reasons: two runs with the same cause are
// the same find.
type Cause struct {
	// Property is the worst that is violated, Class its class if it has one.
	Property checker.Property `json:"property"`
	Class    string           `json:"class,omitempty"`
	// Faults are the kinds that had struck by then, sorted. They include what the
	// workload itself did that a lock may suffer from: slow work, and closing.
	Faults []string `json:"faults"`
}

// slowWork is the cause of a critical section as long as an unrenewed lease. It is listed
// among the faults.
const slowWork = "slow-work"

// closing is the cause of a client that closed its lock and went on.
const closing = "close"

// NeverEnded is the class of a run that was ended by --stall.
const NeverEnded = "never ended"

// Hung is the cause of a run that never ended. Its faults are unknown.
func Hung() Cause { return Cause{Property: checker.Progress, Class: NeverEnded, Faults: []string{}} }

// Of returns the causes of a run, one for every violated property, the worst
// first.
func Of(s *scenarios.Scenario, h *history.History, verdicts map[checker.Property]checker.Verdict) []Cause {
	var all []Cause
	for _, p := range checker.Properties() {
		v := verdicts[p.Name]
		if v.Outcome != checker.Violated {
			continue
		}
		by := h.Events[len(h.Events)-1].Time
		if v.AtMS > 0 && p.Name != checker.Progress { // which is at fault until it ends
			by = int64(v.AtMS*float64(time.Millisecond)) + int64(time.Microsecond)
		}
		all = append(all, Cause{Property: p.Name, Class: v.Class, Faults: before(s, h, by)})
	}
	return all
}

// before are the kinds of fault that had struck by a time.
func before(s *scenarios.Scenario, h *history.History, by int64) []string {
	kinds := []string{}
	for _, e := range h.Events {
		switch {
		case e.Began() > by:
		case e.Kind == history.Fault && e.Fault.Phase == history.PhaseStart:
			kinds = append(kinds, s.Faults[e.Fault.ID-1].Hazard())
		case e.Kind == history.Note && e.F == history.Closed:
			kinds = append(kinds, closing)
		}
	}
	if workedPastLease(h, by) {
		kinds = append(kinds, slowWork)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Hazards are the kinds of faults, sorted.
func Hazards(all []faults.Spec) []string {
	names := append([]string{}, english.Words(all, faults.Spec.Hazard)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Key names the cause, and is safe as the name of a file.
func (c Cause) Key() string {
	words := []string{string(c.Property)}
	if c.Class != "" {
		words = append(words, strings.ReplaceAll(c.Class, " ", "-"))
	}
	if len(c.Faults) == 0 {
		words = append(words, "no-fault")
	}
	return strings.Join(append(words, c.Faults...), "_")
}

func (c Cause) Violation() string {
	if c.Class != "" {
		return fmt.Sprintf("%s (%s)", c.Property, c.Class)
	}
	return string(c.Property)
}

func (c Cause) After() string {
	if len(c.Faults) == 0 {
		return "no fault"
	}
	return strings.Join(c.Faults, ", ")
}

func (c Cause) String() string { return c.Violation() + " after " + c.After() }

// Explains reports whether c is the same violation after a part of the same
// faults.
func (c Cause) Explains(o Cause) bool {
	return c.Property == o.Property && c.Class == o.Class &&
		!slices.ContainsFunc(c.Faults, func(f string) bool { return !slices.Contains(o.Faults, f) })
}

// Compare orders causes, those with fewer faults first.
func (c Cause) Compare(o Cause) int {
	return cmp.Or(cmp.Compare(len(c.Faults), len(o.Faults)), cmp.Compare(c.Key(), o.Key()))
}
