package selftest

import (
	"slices"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

// SearchRecord is the result of the searches, and the JSON document that the
// command prints.
type SearchRecord struct {
	search.Header
	Mutants []searchRow    `json:"mutants"`
	Summary searchedCounts `json:"summary"`
	Flaws
}

type searchedCounts struct {
	foundCounts
	Runs int `json:"runs"` // the runs of all trials
}

type searchRow struct {
	aim
	Found int `json:"found"` // in so many trials
	// Runs is the median of the runs until the first find; 0 if most trials had
	// none.
	Runs   int            `json:"median_runs"`
	Causes []causeRow     `json:"causes"` // those seen most often first
	Trials []*searchTrial `json:"trials"`
}

// causeRow is a cause that no simpler cause of the same mutant explains.
type causeRow struct {
	search.Cause
	Trials int `json:"trials"`
}

func newSearchRecord(command string, searches []*drawnSearch) *SearchRecord {
	r := &SearchRecord{Header: search.NewHeader("gallery-explore", command), Mutants: []searchRow{}}
	var medians []int
	for _, s := range searches {
		m := s.row()
		r.Mutants = append(r.Mutants, m)
		r.Summary.count(m.Status)
		if m.Runs > 0 {
			medians = append(medians, m.Runs)
		}
		for _, t := range s.trials {
			r.Summary.Runs += t.Runs
		}
		r.collect(s.campaign)
	}
	r.Summary.measure(medians)
	return r
}

func (s *drawnSearch) row() searchRow {
	m := searchRow{aim: sought(s.mutant, notFound), Causes: []causeRow{}, Trials: s.trials}
	var runs []int
	var causes []explore.Found
	over := true
	for _, t := range s.trials {
		over = over && t.done()
		if t.Found {
			m.Found++
			runs = append(runs, t.Runs)
			causes = append(causes, explore.Found{Key: t.Cause.Key(), Find: search.Find{Cause: *t.Cause, Count: 1}, FirstSeed: t.Seed})
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
		m.Causes = append(m.Causes, causeRow{c.Cause, c.Count})
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

// Alive names the mutants that no trial found, with the mistake of each.
func (r *SearchRecord) Alive() Alive {
	return alive(r.Summary.foundCounts, r.Flaws, r.Mutants, "no drawn scenario", "a mutant that is not found is a hole in what is drawn; more --runs may show a rare one")
}
