package selftest

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
)

const (
	// FarApart is the distance between the seeds of two trials. No trial has more
	// runs.
	FarApart = 1_000_000
	// stretch is the number of runs of a trial that are played at once. The trial ignores
	// those after a find.
	stretch = 8
)

// Searches looks for mutants in random scenarios.
type Searches struct {
	Mutants []gallery.Mutant
	Trials  int    // per mutant, with other seeds
	Runs    int    // after which a trial gives up
	Seed    uint64 // the first
	Command string // repeats them
}

// Play plays every trial until it finds its mutant or its runs are over. When ctx
// ends, the record has the finished runs.
func (s Searches) Play(ctx context.Context, pool workers.Pool, p Progress) (*SearchRecord, error) {
	v, err := draw.NewVocabulary(nil, nil, false)
	if err != nil {
		return nil, err
	}
	plan := explore.Plan{Vocabulary: v, Holes: draw.Coverage{}.Holes(v.Faults)}
	var all []*drawnSearch
	var trials []trial
	for _, m := range s.Mutants {
		one := &drawnSearch{campaign: campaign{mutant: m}, plan: plan}
		for i := range s.Trials {
			t := &searchTrial{FirstSeed: s.Seed + uint64(i)*FarApart, given: s.Runs, of: one}
			one.trials = append(one.trials, t)
			trials = append(trials, t)
		}
		all = append(all, one)
	}
	began := time.Now()
	if err := playRounds(ctx, pool, trials, p); err != nil {
		return nil, err
	}
	r := newSearchRecord(s.Command, all)
	r.WallMS = float64(time.Since(began).Milliseconds())
	return r, nil
}

// drawnSearch looks for one mutant in drawn scenarios.
type drawnSearch struct {
	campaign
	plan   explore.Plan
	trials []*searchTrial
}

// searchTrial is one exploration of a mutant, up to its first find.
type searchTrial struct {
	FirstSeed uint64        `json:"first_seed"`
	Runs      int           `json:"runs"` // played
	Found     bool          `json:"found"`
	Seed      uint64        `json:"seed,omitempty"`  // of the find
	Cause     *search.Cause `json:"cause,omitempty"` // of the find
	VirtualMS float64       `json:"virtual_ms"`      // until then

	given int // the runs of the trial, after which it gives up
	of    *drawnSearch
}

func (t *searchTrial) done() bool { return t.Found || t.Runs >= t.given }

// next is a stretch of the trial's runs.
func (t *searchTrial) next() []suite.Job {
	var jobs []suite.Job
	for i := range min(stretch, t.given-t.Runs) {
		j := explore.DrawnJob(i, t.of.mutant.Name, t.FirstSeed+uint64(t.Runs+i), t.of.plan)
		j.Kind = differentialKind
		jobs = append(jobs, j)
	}
	return jobs
}

// take adds the results of runs, up to the first find or the first interrupted
// run.
func (t *searchTrial) take(answers []*suite.Answer) {
	for _, a := range answers {
		if a == nil || t.Found {
			return
		}
		t.Runs++
		t.VirtualMS += a.Run.Stats.VirtualMS
		if t.of.useless(a, fmt.Sprintf("%s with seed %d", t.of.mutant.Name, a.Run.Seed)) {
			continue
		}
		if seen := explore.SeenIn(*a); seen != nil && seen.Cause != nil {
			t.Found, t.Seed, t.Cause = true, a.Run.Seed, seen.Cause
		}
	}
}
