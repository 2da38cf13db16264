package selftest

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

// SearchRecord is the result of the searches, and the JSON document that the
// command prints.
type SearchRecord struct {
	search.Header
	Mutants []SearchRow    `json:"mutants"`
	Summary SearchedCounts `json:"summary"`
	Flaws
}

// SearchedCounts sums up.
type SearchedCounts struct {
	Mutants  int `json:"mutants"`
	Found    int `json:"found"`     // in some trial
	NotFound int `json:"not_found"` // in any
	Runs     int `json:"runs"`      // the runs of all trials
	Median   int `json:"median"`    // of the medians; 0 when most mutants have none
	Highest  int `json:"highest"`   // of the medians
}

// SearchRow is the result for one mutant.
type SearchRow struct {
	Name    string `json:"name"`
	Of      string `json:"of"`
	Class   int    `json:"class"`
	Mistake string `json:"mistake"`
	Status  string `json:"status"` // "found", "not found" or "unfinished"
	Found   int    `json:"found"`  // in so many trials
	// Runs is the median of the runs until the first find; 0 if most trials had
	// none.
	Runs   int            `json:"median_runs"`
	Causes []CauseRow     `json:"causes"` // those seen most often first
	Trials []*SearchTrial `json:"trials"`
}

// CauseRow is a cause that no simpler cause of the same mutant explains.
type CauseRow struct {
	search.Cause
	Trials int `json:"trials"`
}

const (
	found    = "found"
	NotFound = "not found"
)

func newSearchRecord(searches []*drawnSearch) *SearchRecord {
	r := &SearchRecord{Header: search.NewHeader("gallery-explore", ""), Mutants: []SearchRow{}}
	var medians []int
	for _, s := range searches {
		m := s.row()
		r.Mutants = append(r.Mutants, m)
		r.Summary.Mutants++
		switch m.Status {
		case found:
			r.Summary.Found++
		case NotFound:
			r.Summary.NotFound++
		}
		if m.Runs > 0 {
			medians = append(medians, m.Runs)
		}
		for _, t := range s.trials {
			r.Summary.Runs += t.Runs
		}
		r.collect(s.campaign)
	}
	slices.Sort(medians)
	if at := midpoint(len(searches)); at < len(medians) {
		r.Summary.Median = medians[at]
	}
	if n := len(medians); n > 0 {
		r.Summary.Highest = medians[n-1]
	}
	return r
}

func (s *drawnSearch) row() SearchRow {
	m := SearchRow{Name: s.mutant.Name, Of: s.mutant.Of, Class: s.mutant.Class, Mistake: s.mutant.Mistake, Status: NotFound, Causes: []CauseRow{}, Trials: s.trials}
	var runs []int
	var causes []explore.Found
	over := true
	for _, t := range s.trials {
		over = over && t.done()
		if t.Found {
			m.Found++
			runs = append(runs, t.Runs)
			causes = append(causes, explore.Found{Key: t.Cause.Key(), Cause: *t.Cause, Count: 1, FirstSeed: t.Seed})
		}
	}
	switch {
	case m.Found > 0:
		m.Status = found
	case !over:
		m.Status = unfinished
	}
	slices.Sort(runs) // the trials without a find are longer than all of these
	if at := midpoint(len(s.trials)); over && at < len(runs) {
		m.Runs = runs[at]
	}
	for _, c := range explore.Distinct(folded(causes)) {
		m.Causes = append(m.Causes, CauseRow{c.Cause, c.Count})
	}
	return m
}

// folded merges equal causes, and finds the causes that explain others.
func folded(causes []explore.Found) []explore.Found {
	var some []explore.Found
	for _, c := range causes {
		if i := slices.IndexFunc(some, func(o explore.Found) bool { return o.Key == c.Key }); i >= 0 {
			some[i].Count++
			some[i].FirstSeed = min(some[i].FirstSeed, c.FirstSeed)
			continue
		}
		some = append(some, c)
	}
	explore.Subsume(some)
	return some
}

// Missed names the mutants that no trial found, with the mistake of each.
func (r *SearchRecord) Missed() (names, hints []string) {
	for _, m := range r.Mutants {
		if m.Status == NotFound {
			names = append(names, m.Name)
			hints = append(hints, fmt.Sprintf("no drawn scenario shows what is wrong with %s: %s", m.Name, m.Mistake))
		}
	}
	return names, hints
}
