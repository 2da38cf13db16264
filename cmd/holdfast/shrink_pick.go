package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/shrink"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
)

// shown is a run that may show a violation, and what was played.
type shown struct {
	run  results.Run
	file string // of the scenario
}

// runsOf lists the runs of a directory: a run directory, or one that holds
// scenarios beside the histories of their runs, as holdfast vary leaves it.
func runsOf(path string) (all []shown, version string, err error) {
	dir := suite.Dir(path)
	res, err := dir.ReadResults()
	if errors.Is(err, fs.ErrNotExist) {
		if all, err := variationsOf(path); err != nil || len(all) > 0 {
			return all, "", err
		}
	}
	if err != nil {
		return nil, "", badInput(err, "a run directory is what holdfast run writes; it holds results.json")
	}
	for _, r := range res.Runs {
		all = append(all, shown{r, dir.File("scenarios", r.Scenario+".yaml")})
	}
	return all, res.Version, nil
}

// variationsOf judges the histories of a directory that have a scenario of the
// same name beside them.
func variationsOf(dir string) (all []shown, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, badInput(err)
	}
	for _, path := range paths {
		file := strings.TrimSuffix(path, ".jsonl") + ".yaml"
		if !suite.Exists(file) {
			continue
		}
		h, err := readRun(path)
		if err != nil {
			return nil, badInput(err)
		}
		judged, err := checker.Judge(h, checker.Options{})
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: %w", path, err))
		}
		all = append(all, shown{results.Run{Scenario: h.Header.Scenario, Lock: h.Header.Lock, World: h.Header.World, Seed: h.Header.Seed,
			Verdicts: judged.Verdicts, Stats: results.Stats{Ops: len(h.Events)}}, file})
	}
	return all, nil
}

func readRun(path string) (*history.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return suite.Decode(path, history.Decode, f)
}

// choose picks the run to shrink, and its violation: among those that the
// flags leave the worst, and of equals the one with the fewest operations.
func (f shrinkFlags) choose(all []shown) (shown, shrink.Target, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s shown) bool {
		return f.lock != "" && s.run.Lock != f.lock || f.scenario != "" && s.run.Scenario != f.scenario || f.seeded && s.run.Seed != f.seed
	})
	if len(all) == 0 {
		return shown{}, shrink.Target{}, usage("there is no such run", "holdfast report RUNDIR --format json lists what there is")
	}
	best, refused := -1, error(nil)
	var target shrink.Target
	for i, s := range all {
		p, bad := f.worst(s.run)
		if bad == 0 {
			continue
		}
		if err := cannotReplay(s.run); err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		if best >= 0 {
			_, most := f.worst(all[best].run)
			if bad < most || bad == most && s.run.Stats.Ops >= all[best].run.Stats.Ops {
				continue
			}
		}
		best, target = i, shrink.Target{Property: p, Class: s.run.Verdicts[p].Class}
	}
	switch {
	case best >= 0:
		return all[best], target, nil
	case refused != nil:
		return shown{}, target, refused
	case f.property != "":
		return shown{}, target, usage("there is nothing to shrink: " + f.property + " is violated in none of the runs")
	}
	return shown{}, target, usage("there is nothing to shrink: no run shows a violation")
}

// worst is the violation of a run that is worth most, and how much: 0 is none.
// What its scenario did not expect comes before what it did.
func (f shrinkFlags) worst(r results.Run) (worst checker.Property, bad int) {
	for i, info := range checker.Properties() {
		v, p := r.Verdicts[info.Name], info.Name
		if v.Outcome != checker.Violated || f.property != "" && f.property != string(p) {
			continue
		}
		weight := 100 - 2*i // reports show what matters most first
		if v.Class == checker.LeaseOutlived {
			weight -= 3 // the lock cannot help it: only what follows from it comes after
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

// cannotReplay says why a run cannot be played again here.
func cannotReplay(r results.Run) error {
	what := fmt.Sprintf("%s with %s, seed %d, ", r.Scenario, r.Lock, r.Seed)
	switch _, err := subject.FindSubject(r.Lock); {
	case r.Test != "":
		return badInput(errors.New(what+"was played by a go test, which has the lock"), "shrink a run of the built-in lock of its kind, and play the result in the test")
	case r.World != worldSim:
		return badInput(fmt.Errorf("%swas played in the %s world, where nothing happens twice", what, r.World), "play the scenario with --world sim, and shrink that run")
	case err != nil:
		return badInput(fmt.Errorf("%scannot be played again: %w", what, err), "only locks that holdfast brings along can be shrunk")
	case r.Failure != "":
		return badInput(errors.New(what+"never ended, so that every try would take as long as is waited for it"), "holdfast report RUNDIR --format text tells how it failed")
	}
	return nil
}
