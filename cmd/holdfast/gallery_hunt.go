package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/subject/gallery"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// hunt is the search for what catches one mutant.
type hunt struct {
	mutant gallery.Mutant
	list   []played // the scenarios of a pass, in the order of the catalogue
	trials []*trial
	passes int
	caught map[catcher]int // in how many passes
	// None of these catches anything: verdicts that were to be ok and came out
	// unknown, runs that ended without a verdict, and defects of holdfast.
	unknown   map[catcher]int
	noVerdict []string
	defects   []string
}

// catcher is a scenario and the property that was to hold there.
type catcher struct {
	scenario string
	property checker.Property
}

func (c catcher) String() string { return fmt.Sprintf("%s in %s", c.property, c.scenario) }

// trial looks for one mutant with seeds of its own. It is an object of the
// JSON.
type trial struct {
	FirstSeed uint64 `json:"first_seed"`
	Seeds     int    `json:"seeds"` // played
	Caught    bool   `json:"caught"`
	// VirtualMS and WallMS are the time until the first catch, run by run in
	// the order of the catalogue.
	VirtualMS float64 `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`

	given int // how many seeds the trial has; it gives up after them
}

// done says whether the trial has played all that it is going to.
func (t *trial) done() bool { return t.Caught || t.Seeds == t.given }

// planHunts makes a hunt of every mutant.
func planHunts(mutants []gallery.Mutant, list []played, f galleryFlags) ([]*hunt, error) {
	var all []*hunt
	for _, m := range mutants {
		h := &hunt{mutant: m, caught: map[catcher]int{}, unknown: map[catcher]int{}}
		l, err := subject.FindSubject(m.Name)
		if err != nil {
			return nil, defect(err)
		}
		why := ""
		for _, p := range list {
			if ok, reason := p.scenario.Applies(l); !ok {
				why = fmt.Sprintf("%s does not apply: %s", p.scenario.Name, reason)
				continue
			}
			h.list = append(h.list, p)
		}
		if len(h.list) == 0 {
			return nil, usage("there is nothing to play with "+m.Name, why)
		}
		for i := range f.trials {
			h.trials = append(h.trials, &trial{FirstSeed: f.seed + uint64(i)*uint64(f.seeds), given: f.seeds})
		}
		all = append(all, h)
	}
	return all, nil
}

// playHunts plays round after round: in each, every trial that has caught
// nothing yet plays its next seed.
func playHunts(ctx context.Context, all []*hunt, f galleryFlags, stderr io.Writer) error {
	for range f.seeds {
		var jobs []suite.Job
		var passes []*pass
		for _, h := range all {
			for _, t := range h.trials {
				if t.done() {
					continue
				}
				passes = append(passes, &pass{hunt: h, trial: t, first: len(jobs)})
				for _, s := range h.list {
					jobs = append(jobs, suite.Job{ID: len(jobs), Scenario: s.scenario.Name, File: s.file, Source: string(s.source),
						Lock: h.mutant.Name, Seed: t.FirstSeed + uint64(t.Seeds), Judge: true})
				}
			}
		}
		if len(jobs) == 0 || ctx.Err() != nil {
			return nil
		}
		bar := newProgress(stderr, len(jobs))
		answers, err := workers.Pool{Exe: testOnlyWorker, Workers: f.workers, Stall: f.stall}.Gather(ctx, jobs, bar.step)
		bar.done()
		if err != nil {
			return err
		}
		for _, p := range passes {
			p.answers = answers[p.first : p.first+len(p.hunt.list)]
			p.judge()
		}
	}
	return nil
}

// pass is one seed of one trial: every scenario, once.
type pass struct {
	hunt    *hunt
	trial   *trial
	first   int // the job of the first scenario
	answers []*suite.Answer
}

// judge takes over what a pass has shown. One that was interrupted counts for
// nothing.
func (p *pass) judge() {
	for _, a := range p.answers {
		if a == nil {
			return
		}
	}
	h, t := p.hunt, p.trial
	h.passes++
	t.Seeds++
	for _, a := range p.answers {
		if !t.Caught {
			t.VirtualMS += a.Run.Stats.VirtualMS
			t.WallMS += a.Run.Stats.WallMS
		}
		which := fmt.Sprintf("%s with %s, seed %d: ", a.Run.Scenario, a.Run.Lock, a.Run.Seed)
		switch {
		case a.Defect != "":
			h.defects = append(h.defects, which+a.Defect)
			continue
		case a.Run.Failure != "":
			why, _, _ := strings.Cut(a.Run.Failure, "\n") // the stacks come after
			h.noVerdict = append(h.noVerdict, which+why)
			continue
		}
		for property, v := range a.Run.Verdicts {
			if a.Run.Expected[property] != checker.OutcomeOK {
				continue
			}
			switch v.Outcome {
			case checker.Violated:
				h.caught[catcher{a.Run.Scenario, property}]++
				t.Caught = true
			case checker.Unknown:
				h.unknown[catcher{a.Run.Scenario, property}]++
			}
		}
	}
}
