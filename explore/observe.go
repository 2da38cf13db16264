package explore

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Plan is a run to draw and play.
type Plan struct {
	Vocabulary Vocabulary `json:"vocabulary"`
	Holes      []Cell     `json:"holes,omitempty"`
}

// Seen is what a run has shown.
type Seen struct {
	Coverage []Count  `json:"coverage,omitempty"`
	Struck   []string `json:"struck,omitempty"` // the kinds of fault that did, sorted
	Cause    *Cause   `json:"cause,omitempty"`  // of the worst violation; nil when nothing is violated
	Also     []Cause  `json:"also,omitempty"`   // of the other violations
	// Unknown is why a run in which nothing is violated proves nothing.
	Unknown string `json:"unknown,omitempty"`
	// Source is the scenario of a find, HistorySHA256 the hash of its history.
	Source        string `json:"source,omitempty"`
	HistorySHA256 string `json:"history_sha256,omitempty"`
}

// Judged is the history to judge: a fault that found nothing to strike was not
// part of the run, and the run means something without it.
func Judged(p *play.Played) *history.History {
	missed := p.Missed()
	h := *p.History
	h.Header.Faults = slices.DeleteFunc(slices.Clone(h.Header.Faults), func(f history.PlannedFault) bool {
		return slices.ContainsFunc(missed, func(m history.PlannedFault) bool { return m.ID == f.ID })
	})
	return &h
}

// without is a scenario without some of its faults.
func without(s *scenarios.Scenario, missed []history.PlannedFault) *scenarios.Scenario {
	less := *s
	less.Faults = nil
	for i, f := range s.Faults {
		if !slices.ContainsFunc(missed, func(m history.PlannedFault) bool { return m.ID == i+1 }) {
			less.Faults = append(less.Faults, f)
		}
	}
	return &less
}

// CauseOf is the cause of the violation of a property; false when it is not
// violated.
func (s Seen) CauseOf(p checker.Property) (Cause, bool) {
	if s.Cause != nil && s.Cause.Property == p {
		return *s.Cause, true
	}
	i := slices.IndexFunc(s.Also, func(c Cause) bool { return c.Property == p })
	if i < 0 {
		return Cause{}, false
	}
	return s.Also[i], true
}

// Observe says what a run has shown, from its history and the verdicts on it.
func Observe(s *scenarios.Scenario, h *history.History, verdicts map[checker.Property]checker.Verdict) Seen {
	seen := Seen{Coverage: Cover(h).Counts()}
	for _, c := range seen.Coverage {
		seen.Struck = append(seen.Struck, c.Fault)
	}
	seen.Struck = slices.Compact(seen.Struck)
	if all := causesOf(s, h, verdicts); len(all) > 0 {
		seen.Cause, seen.Also = &all[0], all[1:]
		return seen
	}
	for _, p := range checker.Properties() {
		if v := verdicts[p.Name]; v.Outcome == checker.Unknown {
			seen.Unknown = v.Reason
			break
		}
	}
	return seen
}
