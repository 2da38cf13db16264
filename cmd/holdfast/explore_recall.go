package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
)

// recall plays the catalogue, and says of each hazard that it shows of the lock
// whether it is among the causes. Only the worst that a scenario shows counts.
func (x *exploration) recall(ctx context.Context, causes []explore.Found) ([]explore.Listed, error) {
	list, err := pick(nil)
	if err != nil {
		return nil, err
	}
	l, err := subject.FindSubject(x.flags.lock)
	if err != nil {
		return nil, err
	}
	var jobs []suite.Job
	for _, p := range list {
		if ok, _ := p.scenario.Applies(l); ok {
			jobs = append(jobs, suite.Job{ID: len(jobs), Scenario: p.scenario.Name, File: p.file, Source: string(p.source), Lock: x.flags.lock, Seed: 1, Judge: true, Kind: explore.ObservedKind})
		}
	}
	shown := make([]*explore.Listed, len(jobs))
	var failed error
	err = x.pool().Play(ctx, jobs, func(a suite.Answer) {
		if a.Defect != "" {
			failed = errors.Join(failed, errors.New(a.Defect))
		} else if seen := explore.SeenIn(a); seen != nil && seen.Cause != nil {
			shown[a.ID] = &explore.Listed{Scenario: a.Run.Scenario, Cause: *seen.Cause}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("play catalogue: %w", err)
	}
	listed := []explore.Listed{}
	for _, s := range shown {
		if s != nil {
			listed = append(listed, *s)
		}
	}
	explore.Recall(listed, causes)
	return listed, nil
}

// recalled is a table of the hazards of the catalogue.
func (e explored) recalled(w io.Writer, before, after string) error {
	if len(e.Catalogue) == 0 {
		return nil
	}
	came := 0
	fmt.Fprintf(w, "which hazards of the catalogue came by themselves:\n\n%s", before)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "scenario\tviolated\tafter\tfirst seed\tit takes")
	for _, l := range e.Catalogue {
		seed, takes := "-", "not found"
		if i := slices.IndexFunc(e.Causes, func(c explore.Found) bool { return c.Key == l.By }); i >= 0 {
			seed, takes = fmt.Sprint(e.Causes[i].FirstSeed), e.Causes[i].Least().After()
			came++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", l.Scenario, l.Violation(), l.After(), seed, takes)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%d of %d\n\n", after, came, len(e.Catalogue))
	return err
}
