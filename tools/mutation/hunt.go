package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/tools/mutation/schemata"
	"github.com/holdfast-go/holdfast/tools/mutation/uses"
)

// hunt says how to play mutants. The same hunt of the same source gives the same
// result on any number of workers, except for timeouts.
type hunt struct {
	exe     string // what [source.build] built
	workers int
	stall   time.Duration // real time after which it gives a run up
	// catalogue is one run for each scenario, lock and seed; drawn is the same
	// for random scenarios.
	catalogue, drawn []suite.Job
	placed           int // every how many placements one is played; 0 for none
}

// A violation in a drawn scenario kills if the mutant shows it in drawnLeast of
// drawnSeeds runs, and the original in none. One run is not enough: a mutant
// sends other messages at other times, so a fault that aims at a message strikes
// something else.
const (
	drawnSeeds = 8
	drawnLeast = 4
)

// Statuses of a mutant that was played.
const (
	killed     = "killed"
	survived   = "survived"
	timedOut   = "timed out"
	notReached = "not reached" // by any run, so nothing was played
)

// result is the result of one mutant.
type result struct {
	*Mutant
	Status string `json:"status"`
	// By is the killer, or the run that timed out: a property, a scenario and a
	// lock.
	By    string `json:"by,omitempty"`
	Locks string `json:"locks,omitempty"` // that reach it
	Runs  int    `json:"runs,omitempty"`
	// Changed says that some run has another history than the original's.
	Changed bool `json:"changed,omitempty"`
	// Test is the test of the locks that fails with a mutant that no run kills.
	Test string `json:"test,omitempty"`
	// Equivalent is the reason for which the mutant behaves as the original does; empty
	// without such a note.
	Equivalent string `json:"equivalent,omitempty"`
}

// ground has the plays of the original: its verdicts, and the mutants that it reaches.
type ground struct {
	hunt   hunt
	placed placements
	drawn  []groundRun
	runs   []groundRun // of the catalogue, the short ones first
	// left are the catalogue runs with unexpected verdicts on the original. No
	// mutant plays them.
	left []string
}

// groundRun is a run of the original.
type groundRun struct {
	job     suite.Job
	answer  *suite.Answer
	grants  int
	reaches []int // mutants, ascending
}

// pool plays one mutant; 0 is the original.
func (h hunt) pool(mutant, workersAtMost int) workers.Pool {
	return workers.Pool{Exe: h.exe, Workers: workersAtMost, Stall: h.stall, Env: []string{fmt.Sprintf("%s=%d", schemata.Variable, mutant)}}
}

// playOriginal plays the original once. It calls step after each run.
func (h hunt) playOriginal(ctx context.Context, step func()) (*ground, error) {
	jobs := slices.Concat(h.catalogue, h.drawn)
	for i := range jobs {
		jobs[i].ID, jobs[i].Kind, jobs[i].Judge = i, schemata.Kind, true
	}
	answers, err := h.pool(0, h.workers).Gather(ctx, jobs, step)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("play original: %w", err)
	}
	g := &ground{hunt: h, placed: placements{every: h.placed}}
	for i, a := range answers {
		r := groundRun{job: jobs[i], answer: a}
		gave, err := suite.DecodeAs[schemata.Answer](a.Out)
		if err != nil {
			return nil, err
		}
		if gave != nil {
			r.grants, r.reaches = gave.Grants, gave.Reached
			slices.Sort(r.reaches)
		}
		switch {
		case a.Defect != "" || a.Run.Failure != "" || gave == nil:
			g.left = append(g.left, which(r.job))
		case i >= len(h.catalogue):
			g.drawn = append(g.drawn, r)
		case !a.Run.AsExpected && slices.Contains(uses.Names(), r.job.Lock): // it may suit not every scenario
		case !a.Run.AsExpected:
			g.left = append(g.left, which(r.job))
		default:
			g.runs = append(g.runs, r)
		}
	}
	sortByCost(g.runs)
	sortByCost(g.drawn)
	return g, nil
}

// sortByCost puts the locks that play fast first, and of each lock the short
// runs.
func sortByCost(all []groundRun) {
	commands := func(r groundRun) int { return r.answer.Run.Stats.Commands }
	whole := map[string]int{}
	for _, r := range all {
		whole[r.job.Lock] += commands(r)
	}
	slices.SortStableFunc(all, func(a, b groundRun) int {
		return cmp.Or(whole[a.job.Lock]-whole[b.job.Lock], strings.Compare(a.job.Lock, b.job.Lock), commands(a)-commands(b))
	})
}

// which names a run.
func which(j suite.Job) string { return fmt.Sprintf("%s with %s, seed %d", j.Scenario, j.Lock, j.Seed) }

// playAll plays each mutant until something kills it. It passes each result to
// took, one at a time, in the order in which they end. It stops early when ctx
// ends.
func (g *ground) playAll(ctx context.Context, mutants []*Mutant, took func(*result) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan *Mutant)
	results := make(chan *result)
	var all sync.WaitGroup
	for range g.hunt.workers {
		all.Go(func() {
			original := g.hunt.pool(0, 1).Keeping()
			defer original.Stop()
			for m := range queue {
				r, err := g.play(ctx, m, original)
				if err != nil {
					stop(err)
				} else if ctx.Err() == nil {
					results <- r
				}
			}
		})
	}
	go func() {
		defer close(results)
		defer all.Wait()
		defer close(queue)
		for _, m := range mutants {
			select {
			case queue <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	for r := range results {
		if err := took(r); err != nil {
			stop(err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("play mutants: %w", err)
	}
	return nil
}

// play plays one mutant. It starts with the catalogue, then repeats the runs with
// a changed history. The drawn scenarios and the placements follow.
func (g *ground) play(ctx context.Context, m *Mutant, original workers.Pool) (*result, error) {
	p := &played{result: &result{Mutant: m, Status: notReached}, ctx: ctx, original: original, mutant: g.hunt.pool(m.number, 1).Keeping()}
	defer p.mutant.Stop()
	runs, drawn := reaching(g.runs, m.number), reaching(g.drawn, m.number)
	p.Locks = lockNames(runs, drawn)
	if len(runs)+len(drawn) == 0 {
		return p.result, nil
	}
	p.Status = survived
	cheapest := slices.Concat(runs, drawn)[0].job.Lock
	for _, step := range []func() error{
		func() error { return p.catalogue(runs) },
		func() error { return p.again() },
		func() error { return p.explore(drawn) },
		func() error { return p.placed(&g.placed, cheapest) },
	} {
		if err := step(); err != nil || p.Status != survived {
			return p.result, err
		}
	}
	return p.result, nil
}

// reaching are the runs that reach a mutant.
func reaching(all []groundRun, number int) []groundRun {
	var some []groundRun
	for _, r := range all {
		if _, ok := slices.BinarySearch(r.reaches, number); ok {
			some = append(some, r)
		}
	}
	return some
}

// lockNames names the locks of runs.
func lockNames(some ...[]groundRun) string {
	var names []string
	for _, r := range slices.Concat(some...) {
		names = append(names, r.job.Lock)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// played is a mutant during its runs.
type played struct {
	*result
	ctx              context.Context
	mutant, original workers.Pool
	other            []otherway
}

// otherway is a run in which the mutant has another history than the original.
type otherway struct {
	job  suite.Job
	hash string
}

// run plays one job. It returns nil if the job decided about the mutant, or if
// ctx ended.
func (p *played) run(j suite.Job) (*suite.Answer, error) {
	a, err := playOne(p.ctx, p.mutant, j)
	if err != nil || a == nil {
		return nil, err
	}
	p.Runs++
	switch {
	case a.Killed || a.Stalled == goroutines.Endless:
		p.settle(timedOut, which(j))
	case a.Defect != "":
		p.settle(killed, "no verdict on "+which(j))
	case a.Run.Failure != "":
		p.settle(killed, "no end of "+which(j))
	default:
		return a, nil
	}
	return nil, nil
}

// playOne plays one job; nil if ctx ended first.
func playOne(ctx context.Context, pool workers.Pool, j suite.Job) (*suite.Answer, error) {
	j.ID = 0
	answers, err := pool.Gather(ctx, []suite.Job{j}, func() {})
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", which(j), err)
	}
	return answers[0], nil
}

func (p *played) settle(status, by string) { p.Status, p.By = status, by }

// catalogue plays runs with known verdicts until one differs.
func (p *played) catalogue(runs []groundRun) error {
	for _, r := range runs {
		a, err := p.run(r.job)
		if a == nil || err != nil {
			return err
		}
		gave, err := suite.DecodeAs[schemata.Answer](a.Out)
		if err != nil {
			return err
		}
		if gave.Grants == 0 && r.grants > 0 {
			p.settle(killed, "no grant in "+which(r.job))
			return nil
		}
		for _, property := range checker.Properties() {
			v, judged := a.Run.Verdicts[property.Name]
			if judged && v.Outcome != checker.Unknown && (!a.Run.Matches(property.Name) || blames(r.answer, property.Name, v)) {
				p.settle(killed, verdict(property.Name, v)+" in "+which(r.job))
				return nil
			}
		}
		if a.Run.HistorySHA256 != r.answer.Run.HistorySHA256 {
			p.Changed = true
			p.other = append(p.other, otherway{r.job, a.Run.HistorySHA256})
		}
	}
	return nil
}

// verdict states a verdict.
func verdict(property checker.Property, v checker.Verdict) string {
	words := fmt.Sprintf("%s %s", property, v.Outcome)
	if v.Class != "" {
		words += fmt.Sprintf(" (%s)", v.Class)
	}
	return words
}

// again repeats the runs with a changed history, because one seed must give one
// history.
func (p *played) again() error {
	for _, o := range p.other {
		a, err := p.run(o.job)
		if a == nil || err != nil {
			return err
		}
		if a.Run.HistorySHA256 != o.hash {
			p.settle(killed, "two histories of "+which(o.job))
			return nil
		}
	}
	return nil
}

// explore plays drawn scenarios until one shows a violation that the original
// never has there.
func (p *played) explore(runs []groundRun) error {
	for _, r := range runs {
		a, err := p.run(r.job)
		if a == nil || err != nil {
			return err
		}
		if a.Run.HistorySHA256 == r.answer.Run.HistorySHA256 {
			continue
		}
		p.Changed = true
		for _, property := range checker.Properties() {
			v := a.Run.Verdicts[property.Name]
			if v.Outcome != checker.Violated || shows(r.answer, property.Name, v) {
				continue
			}
			mistake, err := p.mistake(r.job, property.Name, v)
			if err != nil || p.Status != survived {
				return err
			}
			if mistake {
				p.settle(killed, verdict(property.Name, v)+" in "+which(r.job))
				return nil
			}
		}
	}
	return nil
}

// shows reports whether a run of the original excuses a violation.
func shows(original *suite.Answer, property checker.Property, v checker.Verdict) bool {
	o := original.Run.Verdicts[property]
	worse := v.Class == checker.ContractBroken && o.Class == checker.LeaseOutlived
	return o.Outcome != checker.OutcomeOK && !worse && !blames(original, property, v)
}

// blames reports whether a verdict is a violation by the lock's own fault, where
// that of the original is inherent.
func blames(original *suite.Answer, property checker.Property, v checker.Verdict) bool {
	o := original.Run.Verdicts[property]
	return v.Faulty() && o.Outcome == checker.Violated && !o.Faulty()
}

// mistake reports whether a violation is the mutant's. With other seeds, too, the
// mutant shows it, and the original never does.
func (p *played) mistake(j suite.Job, property checker.Property, v checker.Verdict) (bool, error) {
	first, seen := j.Seed, 1
	for n := 1; n < drawnSeeds && seen+drawnSeeds-n >= drawnLeast; n++ {
		j.Seed = random.Stream(first, "drawn", fmt.Sprint(n)).Uint64()
		o, err := playOne(p.ctx, p.original, j)
		if err != nil || o == nil {
			return false, err
		}
		if o.Run.Failure != "" || shows(o, property, v) {
			return false, nil
		}
		a, err := p.run(j)
		if a == nil || err != nil {
			return false, err
		}
		if w := a.Run.Verdicts[property]; w.Outcome == checker.Violated && w.Class == v.Class && w.Faulty() == v.Faulty() {
			seen++
		}
	}
	return seen >= drawnLeast, nil
}
