package explore

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Plan is a run to draw and play.
type Plan struct {
	Vocabulary draw.Vocabulary `json:"vocabulary"`
	Holes      []draw.Cell     `json:"holes,omitempty"`
}

type Seen struct {
	Coverage []draw.Count   `json:"coverage,omitempty"`
	Struck   []string       `json:"struck,omitempty"` // the kinds of fault that did, sorted
	Cause    *search.Cause  `json:"cause,omitempty"`  // of the worst violation; nil when nothing is violated
	Also     []search.Cause `json:"also,omitempty"`   // of the other violations
	// Unknown is the reason for a run that proves nothing, although nothing is violated.
	Unknown string `json:"unknown,omitempty"`
	// Source is the scenario of a find, HistorySHA256 the hash of its history.
	Source        string `json:"source,omitempty"`
	HistorySHA256 string `json:"history_sha256,omitempty"`
}

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
func (s Seen) CauseOf(p checker.Property) (search.Cause, bool) {
	if s.Cause != nil && s.Cause.Property == p {
		return *s.Cause, true
	}
	i := slices.IndexFunc(s.Also, func(c search.Cause) bool { return c.Property == p })
	if i < 0 {
		return search.Cause{}, false
	}
	return s.Also[i], true
}

// Observe says what a run has shown, from its history and the verdicts on it.
func Observe(s *scenarios.Scenario, h *history.History, verdicts map[checker.Property]checker.Verdict) Seen {
	seen := Seen{Coverage: draw.Cover(h).Counts()}
	for _, c := range seen.Coverage {
		seen.Struck = append(seen.Struck, c.Fault)
	}
	seen.Struck = slices.Compact(seen.Struck)
	if all := search.Of(s, h, verdicts); len(all) > 0 {
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
