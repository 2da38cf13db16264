package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
)

func (r Results) Files() []string {
	var names []string
	for _, c := range r.Causes {
		for _, ext := range []string{".yaml", ".jsonl", ".shrunk.yaml", ".shrunk.jsonl", ".shrunk.txt"} {
			names = append(names, "finds/"+c.Key+ext)
		}
	}
	return names
}

// ReadKnown reads the causes of another exploration from its document.
func ReadKnown(path string) ([]search.Cause, error) {
	r, err := Kind.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var known []search.Cause
	for _, c := range r.Causes {
		known = append(known, c.Cause, c.Least())
	}
	return known, nil
}

// Store shrinks the finds, and writes the results and the finds to a directory, or
// leaves the directory as it was. For each find it writes the scenario and the history
// of the first run, which it plays again for that, and the shrunk run. The results that
// it returns name these files. It calls progress before it shrinks a find.
func (x *Exploration) Store(ctx context.Context, out *disk.Dir, dir suite.Dir, r Results, progress func(string)) (Results, error) {
	stored := r
	stored.Causes = slices.Clone(r.Causes)
	err := Kind.Replace(out, r, func() error { return x.store(ctx, dir, &stored, progress) })
	if err != nil {
		return r, err
	}
	return stored, nil
}

// store writes the results. Until all is written, they say that they are
// interrupted.
func (x *Exploration) store(ctx context.Context, dir suite.Dir, r *Results, progress func(string)) error {
	if len(r.Causes) > 0 {
		if err := os.MkdirAll(dir.File("finds"), 0o755); err != nil {
			return fmt.Errorf("write finds: %w", err)
		}
	}
	early := *r
	early.Interrupted = true // should somebody kill the command from here on
	if err := Kind.Save(dir, early); err != nil {
		return err
	}
	if x.Shrink {
		if err := x.shrinkFinds(ctx, dir, r, progress); err != nil {
			return err
		}
	}
	if err := x.keepFinds(context.WithoutCancel(ctx), dir, r); err != nil {
		return err
	}
	if x.Catalogue {
		var err error
		if r.Catalogue, err = x.playCatalogue(context.WithoutCancel(ctx), r.Causes); err != nil {
			return err
		}
	}
	r.Interrupted = r.Interrupted || ctx.Err() != nil
	return Kind.Save(dir, *r)
}

func (x *Exploration) keepFinds(ctx context.Context, dir suite.Dir, r *Results) error {
	var jobs []suite.Job
	for i := range r.Causes {
		c := &r.Causes[i]
		if c.Under != "" || c.Known {
			continue
		}
		c.Scenario = path.Join("finds", c.Key+".yaml")
		source := x.tally.samples[c.Key][0].source
		if err := disk.Bytes(dir.File(c.Scenario), []byte(source)); err != nil {
			return fmt.Errorf("write find: %w", err)
		}
		if c.HistorySHA256 == "" {
			continue // it never ended
		}
		history := path.Join("finds", c.Key+".jsonl")
		jobs = append(jobs, suite.Job{ID: i, Scenario: c.Key, File: c.Scenario, Source: source, Lock: x.Lock, Seed: c.FirstSeed, History: dir.File(history), Path: history})
	}
	var failed error
	err := x.Runner.Play(ctx, jobs, func(a suite.Answer) {
		c := &r.Causes[a.ID]
		c.History = a.Run.History
		switch {
		case a.Killed:
			failed = &suite.KilledError{What: a.Run.Failure}
		case a.Output != "":
			failed = errors.New(a.Output)
		case a.Defect != "":
			r.Defects = append(r.Defects, fmt.Sprintf("seed %d, played again: %s", c.FirstSeed, a.Defect))
		case a.Run.HistorySHA256 != c.HistorySHA256:
			r.Defects = append(r.Defects, fmt.Sprintf("not deterministic: seed %d gave two histories, %.12s and %.12s", c.FirstSeed, c.HistorySHA256, a.Run.HistorySHA256))
		}
	})
	return cmp.Or(err, failed)
}
