package selftest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Hunts plays mutants in the scenarios of their originals.
type Hunts struct {
	Mutants   []gallery.Mutant
	Scenarios []suite.Job // one per scenario, with its name, file and source
	Trials    int         // per mutant, with other seeds
	Seeds     int         // after which a trial gives up
	Seed      uint64      // the first
	Command   string      // repeats them
}

// NothingToPlayError means that no scenario applies to a mutant.
type NothingToPlayError struct {
	Mutant string
	Why    string // why the last one does not
}

func (e *NothingToPlayError) Error() string { return "there is nothing to play with " + e.Mutant }

// Play plays every trial until something kills its mutant or its seeds are over.
// When ctx ends, the record has the finished runs. The error is a
// [NothingToPlayError] if a mutant has no scenario.
func (h Hunts) Play(ctx context.Context, pool workers.Pool, p Progress) (*TrackRecord, error) {
	all, err := h.plan()
	if err != nil {
		return nil, err
	}
	var trials []trial
	for _, one := range all {
		for _, t := range one.trials {
			trials = append(trials, t)
		}
	}
	began := time.Now()
	if err := playRounds(ctx, pool, trials, p); err != nil {
		return nil, err
	}
	r := newTrackRecord(h.Command, all)
	r.WallMS = float64(time.Since(began).Milliseconds())
	return r, nil
}

func (h Hunts) plan() ([]*hunt, error) {
	var parsed []*scenarios.Scenario
	for _, j := range h.Scenarios {
		s, err := scenarios.Parse(j.File, []byte(j.Source))
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, s)
	}
	var all []*hunt
	for _, m := range h.Mutants {
		l, err := locks.Find(m.Name)
		if err != nil {
			return nil, err
		}
		one := &hunt{campaign: campaign{mutant: m}, kills: map[killer]int{}, unknown: map[killer]int{}}
		why := ""
		for i, j := range h.Scenarios {
			if ok, reason := parsed[i].Applies(l); !ok {
				why = fmt.Sprintf("%s does not apply: %s", j.Scenario, reason)
				continue
			}
			j.Lock, j.Judge = m.Name, true
			one.pass = append(one.pass, j)
		}
		if len(one.pass) == 0 {
			return nil, &NothingToPlayError{m.Name, why}
		}
		for i := range h.Trials {
			one.trials = append(one.trials, &huntTrial{FirstSeed: h.Seed + uint64(i)*uint64(h.Seeds), given: h.Seeds, hunt: one})
		}
		all = append(all, one)
	}
	return all, nil
}

// hunt is the search for the killers of one mutant.
type hunt struct {
	campaign
	pass   []suite.Job // one per scenario, in the order of the catalogue
	trials []*huntTrial
	passes int
	kills  map[killer]int // the number of passes with each killer
	// unknown counts the expected ok verdicts that were unknown. They kill
	// nothing.
	unknown map[killer]int
}

// killer is a scenario and a property that it expects to hold.
type killer struct {
	scenario string
	property checker.Property
}

func (k killer) String() string { return fmt.Sprintf("%s in %s", k.property, k.scenario) }

type huntTrial struct {
	FirstSeed uint64 `json:"first_seed"`
	Seeds     int    `json:"seeds"` // played
	Killed    bool   `json:"killed"`
	// VirtualMS and WallMS are the time until the first kill, run by run in the
	// order of the catalogue.
	VirtualMS float64 `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`

	given int // the seeds of the trial, after which it gives up
	hunt  *hunt
}

func (t *huntTrial) done() bool { return t.Killed || t.Seeds == t.given }

// next is one pass: every scenario once, with the trial's next seed.
func (t *huntTrial) next() []suite.Job {
	var jobs []suite.Job
	for _, j := range t.hunt.pass {
		j.Seed = t.FirstSeed + uint64(t.Seeds)
		jobs = append(jobs, j)
	}
	return jobs
}

// take adds the results of a pass. An interrupted pass counts for nothing.
func (t *huntTrial) take(answers []*suite.Answer) {
	if slices.Contains(answers, nil) {
		return
	}
	t.hunt.passes++
	t.Seeds++
	for _, a := range answers {
		if !t.Killed {
			t.VirtualMS += a.Run.Stats.VirtualMS
			t.WallMS += a.Run.Stats.WallMS
		}
		if !t.hunt.useless(a, fmt.Sprintf("%s with %s, seed %d", a.Run.Scenario, a.Run.Lock, a.Run.Seed)) {
			t.judge(a)
		}
	}
}

// judge counts the expected ok verdicts of a run that are not ok.
func (t *huntTrial) judge(a *suite.Answer) {
	for property, v := range a.Run.Verdicts {
		if a.Run.Expected[property] != checker.OutcomeOK {
			continue
		}
		switch v.Outcome {
		case checker.Violated:
			t.hunt.kills[killer{a.Run.Scenario, property}]++
			t.Killed = true
		case checker.Unknown:
			t.hunt.unknown[killer{a.Run.Scenario, property}]++
		}
	}
}
