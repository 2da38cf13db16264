package selftest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Placements looks for mutants by exhaustive placement alone. It places single faults in
// a mutant, one after the other. It ends with the first violation that its original shows
// nowhere: the same property, after the same faults.
type Placements struct {
	Mutants []gallery.Mutant
	Command string // repeats it
	// originals has the violations of the originals, by lock and faults.
	originals map[string]map[string]bool
}

// PlacementRecord is the result of Placements, and the JSON document that the command
// prints.
type PlacementRecord struct {
	search.Header
	Mutants []placementRow `json:"mutants"`
	Summary foundCounts    `json:"summary"` // of the numbers of the placements
	Flaws
}

type placementRow struct {
	aim
	// Placements is the number of the find in the order of the enumeration, 0 for a base
	// without a fault.
	Placements int              `json:"placements"`
	Base       string           `json:"base,omitempty"`
	Property   checker.Property `json:"property,omitempty"`
	Faults     []string         `json:"faults,omitempty"`
	Reason     string           `json:"reason,omitempty"`
}

// Play looks for each mutant in turn. It calls progress with what is under way. When ctx
// ends, the record has the mutants that were finished.
func (p Placements) Play(ctx context.Context, pool workers.Pool, progress func(string)) (*PlacementRecord, error) {
	began := time.Now()
	p.originals = map[string]map[string]bool{}
	r := &PlacementRecord{Header: search.NewHeader("gallery-exhaustive", p.Command), Mutants: []placementRow{}}
	var took []int
	for _, m := range p.Mutants {
		row, err := p.find(ctx, m, pool, progress)
		if err != nil {
			return nil, err
		}
		r.Mutants = append(r.Mutants, row)
		r.Summary.count(row.Status)
		if row.Status == found {
			took = append(took, row.Placements)
		}
	}
	r.Summary.measure(took)
	r.WallMS = float64(time.Since(began).Milliseconds())
	return r, nil
}

func (p Placements) find(ctx context.Context, m gallery.Mutant, pool workers.Pool, progress func(string)) (placementRow, error) {
	row := placementRow{aim: sought(m, notFound)}
	if ctx.Err() != nil {
		row.Status = unfinished
		return row, nil
	}
	until, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	err := p.place(until, m.Name, draw.Names(), pool, func(what string) { progress(m.Name + ": " + what) }, func(c exhaustive.Cause) {
		if row.Status == found || failed != nil {
			return
		}
		known, err := p.original(ctx, m.Of, c.Faults, pool)
		if failed = err; err == nil && !known[c.Violation()] {
			row.Status, row.Placements, row.Property, row.Faults, row.Reason = found, c.N+1, c.Property, c.Faults, c.Reason
			row.Base = strings.TrimSuffix(c.First, fmt.Sprintf("-%d", c.N+1))
		}
		if failed != nil || row.Status == found {
			stop()
		}
	})
	switch {
	case failed != nil:
		return row, failed
	case err != nil && until.Err() == nil:
		return row, err
	case row.Status != found && ctx.Err() != nil:
		row.Status = unfinished
	}
	return row, nil
}

// original returns the violations that an original shows after some faults.
func (p Placements) original(ctx context.Context, lock string, hazards []string, pool workers.Pool) (map[string]bool, error) {
	key := lock + " after " + strings.Join(hazards, ", ")
	if known := p.originals[key]; known != nil {
		return known, nil
	}
	known := map[string]bool{}
	names := slices.DeleteFunc(draw.Names(), func(name string) bool { // a variant has the name of its kind first
		return !slices.ContainsFunc(hazards, func(h string) bool { return strings.HasPrefix(h, name) })
	})
	if err := p.place(ctx, lock, names, pool, func(string) {}, func(c exhaustive.Cause) { known[c.Violation()] = true }); err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		p.originals[key] = known
	}
	return known, ctx.Err()
}

func (p Placements) place(ctx context.Context, lock string, kinds []string, pool workers.Pool, progress func(string), found func(exhaustive.Cause)) error {
	l, err := locks.Find(lock)
	if err != nil {
		return err
	}
	o := exhaustive.Options{Lock: l, Depth: 1, Faults: kinds, Shard: suite.Shard{Index: 1, Of: 1}, Runner: pool, Found: found}
	if _, err := o.Play(ctx, progress); err != nil {
		return fmt.Errorf("place faults in %s: %w", lock, err)
	}
	return nil
}
