package explore

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Listed is a hazard that a scenario of the catalogue shows of a lock, and the find of an
// exploration that is the same hazard.
type Listed struct {
	Scenario string `json:"scenario"`
	search.Cause
	// By is the key of the find that is the same hazard: the same went wrong
	// after some of the same faults. Empty when there is none.
	By string `json:"by,omitempty"`
}

// recall looks for every hazard among the causes.
func recall(listed []Listed, causes []Found) {
	for i := range listed {
		listed[i].By = ""
		for _, c := range Distinct(causes) {
			if c.Least().Explains(listed[i].Cause) {
				listed[i].By = c.Key
				break
			}
		}
	}
}

// playCatalogue plays the catalogue, and lists the hazards that it shows of the lock,
// with the finds among the causes. Of a scenario only the worst counts.
func (x *Exploration) playCatalogue(ctx context.Context, causes []Found) ([]Listed, error) {
	jobs, err := x.catalogueJobs()
	if err != nil {
		return nil, fmt.Errorf("play catalogue: %w", err)
	}
	shown := make([]*Listed, len(jobs))
	var failed error
	err = x.Runner.Play(ctx, jobs, func(a suite.Answer) {
		if a.Defect != "" {
			failed = errors.Join(failed, errors.New(a.Defect))
		} else if seen := SeenIn(a); seen != nil && seen.Cause != nil {
			shown[a.ID] = &Listed{Scenario: a.Run.Scenario, Cause: *seen.Cause}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("play catalogue: %w", err)
	}
	listed := []Listed{}
	for _, s := range shown {
		if s != nil {
			listed = append(listed, *s)
		}
	}
	recall(listed, causes)
	return listed, nil
}

func (x *Exploration) catalogueJobs() ([]suite.Job, error) {
	l, err := locks.Find(x.Lock)
	if err != nil {
		return nil, err
	}
	var jobs []suite.Job
	for _, name := range scenarios.Names() {
		file := name + ".yaml"
		src, err := scenarios.Source(name)
		if err != nil {
			return nil, err
		}
		s, err := scenarios.Parse(file, src)
		if err != nil {
			return nil, err
		}
		if ok, _ := s.Applies(l); ok {
			jobs = append(jobs, suite.Job{ID: len(jobs), Scenario: name, File: file, Source: string(src), Lock: x.Lock, Seed: 1, Judge: true, Kind: observedKind})
		}
	}
	return jobs, nil
}
