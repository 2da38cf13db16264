package explore

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker"
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
	Cause    *Cause   `json:"cause,omitempty"`  // nil when nothing is violated
	// Unknown is why a run in which nothing is violated proves nothing.
	Unknown string `json:"unknown,omitempty"`
	// Source is the scenario of a find, HistorySHA256 the hash of its history.
	Source        string `json:"source,omitempty"`
	HistorySHA256 string `json:"history_sha256,omitempty"`
}

// Judged is the history to judge: a fault that found nothing to strike was not
// part of the run, and the run means something without it.
func Judged(p *scenarios.Played) *checker.History {
	missed := p.Missed()
	h := *p.History
	h.Header.Faults = slices.DeleteFunc(slices.Clone(h.Header.Faults), func(f checker.PlannedFault) bool {
		return slices.ContainsFunc(missed, func(m checker.PlannedFault) bool { return m.ID == f.ID })
	})
	return &h
}

// Observe says what a run has shown, from its history and the verdicts on it.
func Observe(s *scenarios.Scenario, h *checker.History, verdicts map[checker.Property]checker.Verdict) Seen {
	seen := Seen{Coverage: Cover(h).Counts()}
	for _, c := range seen.Coverage {
		seen.Struck = append(seen.Struck, c.Fault)
	}
	seen.Struck = slices.Compact(seen.Struck)
	if c, found := causeOf(s, h, verdicts); found {
		seen.Cause = &c
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
