package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/subject/gallery"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

const (
	// farApart is how far the seeds of one trial are from those of the next.
	farApart = 1_000_000
	// stretch is how many runs of a trial are played at once. Of those after
	// a find nothing is taken in.
	stretch = 8
)

// search looks for one mutant in drawn scenarios.
type search struct {
	mutant gallery.Mutant
	trials []*searchTrial
	// None of these finds anything: runs that ended without a verdict, and
	// defects of holdfast.
	noVerdict []string
	defects   []string
}

// searchTrial is one exploration of a mutant, up to its first find. It is an
// object of the JSON.
type searchTrial struct {
	FirstSeed uint64         `json:"first_seed"`
	Runs      int            `json:"runs"` // played
	Found     bool           `json:"found"`
	Seed      uint64         `json:"seed,omitempty"`  // of the find
	Cause     *explore.Cause `json:"cause,omitempty"` // of the find
	VirtualMS float64        `json:"virtual_ms"`      // until then

	given int // how many runs the trial has; it gives up after them
}

// done says whether the trial has played all that it is going to.
func (t *searchTrial) done() bool { return t.Found || t.Runs >= t.given }

func planSearches(mutants []gallery.Mutant, f galleryFlags) []*search {
	var all []*search
	for _, m := range mutants {
		s := &search{mutant: m}
		for i := range f.trials {
			s.trials = append(s.trials, &searchTrial{FirstSeed: f.seed + uint64(i)*farApart, given: f.runs})
		}
		all = append(all, s)
	}
	return all
}

// playSearches plays round after round: in each, every trial that has found
// nothing yet plays a stretch of its runs. Which those are depends on nothing
// else, so the result is the same on any number of workers.
func playSearches(ctx context.Context, all []*search, f galleryFlags, stderr io.Writer) error {
	v, err := explore.NewVocabulary(nil, nil, false)
	if err != nil {
		return err
	}
	plan := explore.Plan{Vocabulary: v, Holes: explore.Coverage{}.Holes(v.Faults)}
	for {
		var jobs []suite.Job
		var parts []*part
		for _, s := range all {
			for _, t := range s.trials {
				if t.done() {
					continue
				}
				p := &part{search: s, trial: t, first: len(jobs), runs: min(stretch, t.given-t.Runs)}
				parts = append(parts, p)
				for i := range p.runs {
					seed := t.FirstSeed + uint64(t.Runs+i)
					j := explore.DrawnJob(len(jobs), s.mutant.Name, seed, plan)
					j.Kind = besideKind
					jobs = append(jobs, j)
				}
			}
		}
		if len(jobs) == 0 || ctx.Err() != nil {
			return nil
		}
		bar := startProgress(stderr, int64(len(jobs)), fmt.Sprintf("searching, %s to go", english.Count(len(parts), "trial")))
		answers, err := workers.Pool{Exe: testOnlyWorker, Workers: f.workers, Stall: f.stall}.Gather(ctx, jobs, bar.step)
		if err != nil {
			return err
		}
		for _, p := range parts {
			p.answers = answers[p.first : p.first+p.runs]
			p.take()
		}
	}
}

// part is a stretch of one trial.
type part struct {
	search  *search
	trial   *searchTrial
	first   int // the job of the first run
	runs    int
	answers []*suite.Answer // once they are played
}

// take takes in what was played, up to the first find and as far as nothing was
// interrupted.
func (p *part) take() {
	t := p.trial
	for _, a := range p.answers {
		if a == nil || t.Found {
			return
		}
		t.Runs++
		t.VirtualMS += a.Run.Stats.VirtualMS
		which := fmt.Sprintf("%s with seed %d: ", p.search.mutant.Name, a.Run.Seed)
		switch {
		case a.Defect != "":
			p.search.defects = append(p.search.defects, which+a.Defect)
		case a.Run.Failure != "":
			why, _, _ := strings.Cut(a.Run.Failure, "\n") // the stacks come after
			p.search.noVerdict = append(p.search.noVerdict, which+why)
		case explore.SeenIn(*a) != nil && explore.SeenIn(*a).Cause != nil:
			t.Found, t.Seed, t.Cause = true, a.Run.Seed, explore.SeenIn(*a).Cause
		}
	}
}
