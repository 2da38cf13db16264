package shrink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/scenarios"
)

// batch is the number of candidates that are played at a time. It does not depend on the
// machine, as the number of runs is limited and the result must not.
const batch = 8

// confirmations is the number of plays that show that a result does not come and go.
const confirmations = 3

// reduction is a search under way.
type reduction struct {
	play    Player
	target  Target
	options Options

	now   *scenarios.Scenario // the smallest that shows the violation
	seed  uint64
	shown Outcome         // what it shows
	seen  map[string]bool // played already
	// first has the verdicts from the start. The verdicts on the other properties may not
	// get worse. A run that proves nothing, or shows another violation besides, is no
	// example of the first.
	first map[checker.Property]checker.Verdict
	stats Stats
}

// errLimit ends a search that has used up its runs or its time.
var errLimit = errors.New("limit reached")

// confirm plays the present scenario a few times.
func (f *reduction) confirm(ctx context.Context) error {
	src, err := f.now.YAML()
	if err != nil {
		return err
	}
	outcomes, err := f.playAll(ctx, slices.Repeat([]Candidate{{src, f.seed}}, confirmations))
	if err != nil {
		return err
	}
	shown := 0
	for _, o := range outcomes {
		if f.target.Met(o.Verdicts) {
			f.shown = o
			shown++
		}
	}
	switch shown {
	case 0:
		if f.first == nil {
			return ErrNotViolated
		}
		return &FlakyError{0, confirmations} // it did before
	case confirmations:
	default:
		return &FlakyError{shown, confirmations}
	}
	if f.first == nil {
		f.first = f.shown.Verdicts
	}
	return nil
}

func (f *reduction) playAll(ctx context.Context, all []Candidate) ([]Outcome, error) {
	outcomes, err := f.play(ctx, all)
	if err == nil && len(outcomes) != len(all) {
		err = fmt.Errorf("%d candidates were played, and %d came back", len(all), len(outcomes))
	}
	f.stats.Runs += len(all)
	if f.options.Step != nil {
		for range all {
			f.options.Step()
		}
	}
	return outcomes, err
}

// keeps reports whether a candidate may take the place of the present scenario.
func (f *reduction) keeps(o Outcome) bool {
	if !f.target.Met(o.Verdicts) {
		return false
	}
	for p, v := range o.Verdicts {
		if v.Outcome != checker.OutcomeOK && v.Outcome != f.first[p].Outcome {
			return false
		}
	}
	return true
}

// run makes changes, pass after pass, until none helps any more.
func (f *reduction) run(ctx context.Context) error {
	for helped := true; helped; {
		helped = false
		if err := f.steady(ctx); err != nil {
			return f.limited(err)
		}
		for _, m := range moves(f.now) {
			some, err := f.try(ctx, m)
			helped = helped || some
			if err != nil {
				return f.limited(err)
			}
		}
	}
	return nil
}

// limited notes that the search has reached its limit, which is no error.
func (f *reduction) limited(err error) error {
	if !errors.Is(err, errLimit) {
		return err
	}
	f.stats.Limited = true
	return nil
}

// witnesses is the number of seeds beside its own that show a steady violation.
const witnesses = 4

// steady looks whether other seeds show the violation as well. From then on
// they must go on to: what only one seed shows may hang on a millisecond.
func (f *reduction) steady(ctx context.Context) error {
	if f.stats.Steady {
		return nil
	}
	src, err := f.now.YAML()
	if err != nil {
		return err
	}
	f.stats.Steady, err = f.isSteady(ctx, Candidate{src, f.seed})
	return err
}

func (f *reduction) isSteady(ctx context.Context, c Candidate) (bool, error) {
	var all []Candidate
	for i := range witnesses {
		all = append(all, Candidate{c.Source, c.Seed + uint64(i) + 1})
	}
	if f.stats.Runs+len(all) > f.options.Runs {
		return false, errLimit
	}
	outcomes, err := f.playAll(ctx, all)
	if ctx.Err() != nil {
		return false, errLimit
	}
	for _, o := range outcomes {
		if !f.target.Met(o.Verdicts) {
			return false, err
		}
	}
	return err == nil, err
}

// try makes one kind of change, again and again when that may help.
func (f *reduction) try(ctx context.Context, m move) (helped bool, err error) {
	for {
		list := m.changed(f.now)
		if m.seed && f.seed != simplestSeed {
			list = []*scenarios.Scenario{f.now}
		}
		kept, err := f.pick(ctx, list, m.seed)
		helped = helped || kept
		if err != nil || !kept || m.once {
			return helped, err
		}
	}
}

// simplestSeed is the one that commands play without --seed.
const simplestSeed = 1

// option is a change that is worth a run.
type option struct {
	scenario *scenarios.Scenario
	Candidate
}

// pick keeps the first of the changed scenarios that shows the violation.
func (f *reduction) pick(ctx context.Context, changed []*scenarios.Scenario, reseed bool) (kept bool, err error) {
	seed := f.seed
	if reseed {
		seed = simplestSeed
	}
	var worth []option
	for _, c := range changed {
		if !reseed && (!measure(c).less(measure(f.now)) || slips(f.now, c)) {
			continue
		}
		if src := f.source(c, seed); src != nil {
			worth = append(worth, option{c, Candidate{src, seed}})
		}
	}
	for len(worth) > 0 {
		part := worth[:min(batch, len(worth), max(0, f.options.Runs-f.stats.Runs))]
		if len(part) == 0 || ctx.Err() != nil {
			return false, errLimit
		}
		worth = worth[len(part):]
		list := make([]Candidate, len(part))
		for i, w := range part {
			list[i] = w.Candidate
		}
		outcomes, err := f.playAll(ctx, list)
		if ctx.Err() != nil {
			return false, errLimit // some may not have been played
		}
		if err != nil {
			return false, err
		}
		for i, o := range outcomes {
			if !f.keeps(o) {
				continue
			}
			if f.stats.Steady {
				if steady, err := f.isSteady(ctx, part[i].Candidate); err != nil {
					return false, err
				} else if !steady {
					continue
				}
			}
			f.now, f.seed, f.shown = part[i].scenario, seed, o
			f.stats.Kept++
			if f.options.Moved != nil {
				err = f.options.Moved(f.stats.Runs, sizeOf(f.now, o))
			}
			return true, err
		}
	}
	return false, nil
}

// source is a changed scenario as a file, or nil when it is none that can be
// played, or has been played already.
func (f *reduction) source(s *scenarios.Scenario, seed uint64) []byte {
	src, err := s.YAML()
	if err != nil {
		return nil
	}
	key := fmt.Sprintf("%d %s", seed, src)
	if f.seen[key] {
		return nil
	}
	f.seen[key] = true
	if _, err := scenarios.Parse("candidate.yaml", src); err != nil {
		return nil // such as a failover without a replica
	}
	return src
}
