package shrink

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Shown is a played run that may show a violation.
type Shown struct {
	Run  results.Run
	File string // of the scenario
}

// ReadRuns lists the runs of a directory: a run directory, or one of holdfast
// vary, which has scenarios beside the histories of their runs.
func ReadRuns(path string) (all []Shown, version string, err error) {
	dir := suite.Dir(path)
	res, err := dir.ReadResults()
	if errors.Is(err, fs.ErrNotExist) {
		if all, err := variationsOf(path); err != nil || len(all) > 0 {
			return all, "", err
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w\nhint: holdfast run writes a run directory, with results.json in it", err)
	}
	for _, r := range res.Runs {
		all = append(all, Shown{r, dir.File("scenarios", r.Scenario+".yaml")})
	}
	return all, res.Version, nil
}

// variationsOf judges the histories of a directory that have a scenario of the
// same name beside them.
func variationsOf(dir string) (all []Shown, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		file := strings.TrimSuffix(path, ".jsonl") + ".yaml"
		if !suite.Exists(file) {
			continue
		}
		h, err := suite.ReadHistory(path)
		if err != nil {
			return nil, err
		}
		judged, err := checker.Judge(h, checker.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, Shown{results.Run{Scenario: h.Header.Scenario, Lock: h.Header.Lock, World: h.Header.World, Seed: h.Header.Seed,
			Verdicts: judged.Verdicts, Stats: results.Stats{Ops: len(h.Events)}}, file})
	}
	return all, nil
}

// Filter selects runs; the zero value selects all.
type Filter struct {
	Lock, Scenario, Property string  // empty: any
	Seed                     *uint64 // nil: any
}

// Choose returns the run to shrink and its violation: the worst one among the
// selected runs, and of equals the one with the fewest operations.
func (f Filter) Choose(all []Shown) (Shown, Target, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s Shown) bool {
		return f.Lock != "" && s.Run.Lock != f.Lock || f.Scenario != "" && s.Run.Scenario != f.Scenario || f.Seed != nil && s.Run.Seed != *f.Seed
	})
	if len(all) == 0 {
		return Shown{}, Target{}, errors.New("there is no such run\nhint: holdfast report RUNDIR --format json lists what there is")
	}
	best, refused := -1, error(nil)
	var target Target
	for i, s := range all {
		p, bad := f.worst(s.Run)
		if bad == 0 {
			continue
		}
		if err := cannotReplay(s.Run); err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		if best >= 0 {
			_, most := f.worst(all[best].Run)
			if bad < most || bad == most && s.Run.Stats.Ops >= all[best].Run.Stats.Ops {
				continue
			}
		}
		best, target = i, Target{Property: p, Class: s.Run.Verdicts[p].Class}
	}
	switch {
	case best >= 0:
		return all[best], target, nil
	case refused != nil:
		return Shown{}, target, refused
	case f.Property != "":
		return Shown{}, target, errors.New("there is nothing to shrink: " + f.Property + " is violated in none of the runs")
	}
	return Shown{}, target, errors.New("there is nothing to shrink: no run shows a violation")
}

// worst is the worst violation of a run, and its weight: 0 is none. Unexpected
// violations outweigh expected ones.
func (f Filter) worst(r results.Run) (worst checker.Property, bad int) {
	for i, info := range checker.Properties() {
		v, p := r.Verdicts[info.Name], info.Name
		if v.Outcome != checker.Violated || f.Property != "" && f.Property != string(p) {
			continue
		}
		weight := 100 - 2*i // in the order of importance of reports
		if v.Class == checker.LeaseOutlived {
			weight -= 3 // the lock cannot avoid it: only its consequences weigh less
		}
		if want, ok := r.Expected[p]; ok && want != v.Outcome {
			weight += 1000
		}
		if weight > bad {
			worst, bad = p, weight
		}
	}
	return worst, bad
}

// cannotReplay returns the reason why a run cannot be played again here, or nil.
func cannotReplay(r results.Run) error {
	what := fmt.Sprintf("%s with %s, seed %d, ", r.Scenario, r.Lock, r.Seed)
	switch _, err := locks.Find(r.Lock); {
	case r.Test != "":
		return errors.New(what + "was played by a go test, which has the lock\nhint: shrink a run of the built-in lock of its kind, and play the result in the test")
	case r.World != "sim":
		return fmt.Errorf("%swas played in the %s world, which cannot repeat a run\nhint: play the scenario with --world sim, and shrink that run", what, r.World)
	case err != nil:
		return fmt.Errorf("%scannot be played again: %w\nhint: only runs of built-in locks can be shrunk", what, err)
	case r.Failure != "":
		return errors.New(what + "never ended, so each attempt would wait for the full --stall timeout\nhint: holdfast report RUNDIR --format text shows how it failed")
	}
	return nil
}
