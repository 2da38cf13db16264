package exhaustive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Options say what to place faults in, and how.
type Options struct {
	Lock   *locks.Lock
	Users  string   // one of [suite.UserChoices], of a lock that is not built in
	Base   string   // its name; empty for all that the lock's claims allow
	Depth  int      // faults in a run: 1 or 2
	Faults []string // the kinds to place, sorted
	Shard  suite.Shard
	Runner suite.Streamer
	// Before are the results of the same command when it was interrupted; nil to begin at
	// the beginning.
	Before *Results
	// Found is called with the cause of each run that violates by the lock's own
	// fault; nil for never.
	Found func(Cause)
	// Keep is called now and then with what has been shown so far; nil for never.
	Keep func(Results) error
}

// keepEvery is after how many runs results are kept.
const keepEvery = 20_000

func (o Options) command() string {
	words := []string{"holdfast explore --exhaustive --lock", o.Lock.Name()}
	if o.Depth > 1 {
		words = append(words, fmt.Sprintf("--depth %d", o.Depth))
	}
	if o.Base != "" {
		words = append(words, "--base", o.Base)
	}
	if len(o.Faults) < len(draw.Names()) {
		words = append(words, "--faults", strings.Join(o.Faults, ","))
	}
	if o.Shard.Of > 1 {
		words = append(words, fmt.Sprintf("--shard %d/%d", o.Shard.Index, o.Shard.Of))
	}
	return strings.Join(words, " ")
}

// ErrOther says that results cannot be gone on with: they are of something else.
var ErrOther = errors.New("they are not of this command")

// begin are the results before the first run.
func (o Options) begin(bases []Base) (Results, error) {
	r := Results{
		Envelope: search.Envelope{Header: search.NewHeader(kindName, o.command()), Shard: o.Shard.Index, Of: o.Shard.Of},
		Lock:     o.Lock.Name(), Depth: o.Depth, Base: o.Base, Faults: o.Faults, Bases: make([]BaseCounts, len(bases)),
		Violated: []Cause{}, Inherent: []Cause{}, Unknown: map[string]int{}, NotCovered: notCovered,
		Durations: english.Words(classes, func(c class) string { return c.Name }),
	}
	for i, b := range bases {
		r.Bases[i] = BaseCounts{Name: b.Name, Summary: b.Summary}
	}
	if o.Before == nil || o.Before.Done == 0 {
		return r, nil
	}
	if what := search.Difference(r, *o.Before); what != "" || o.Before.Shard != r.Shard {
		return r, fmt.Errorf("%w: they are of %s", ErrOther, o.Before.Command)
	}
	r = *o.Before
	r.Bases, r.Violated, r.Inherent, r.Places = slices.Clone(r.Bases), slices.Clone(r.Violated), slices.Clone(r.Inherent), slices.Clone(r.Places)
	return r, nil
}

// Play plays every placement of the shard, and says what they have shown. The
// result does not depend on how many workers play. It calls progress after each
// run with what is under way. The error is a [*BaseError] where there is nothing
// to play, and [ErrOther] where Before are other results.
func (o Options) Play(ctx context.Context, progress func(string)) (Results, error) {
	began := time.Now()
	bases := basesOf(o.Lock, o.Users)
	if o.Base != "" {
		var err error
		if bases, err = find(o.Lock, o.Base); err != nil {
			return Results{}, err
		}
	}
	r, err := o.begin(bases)
	if err != nil {
		return r, err
	}
	p := &playing{Options: o, r: &r, progress: progress, until: r.Done}
	spent := r.WallMS
	p.keep = func() error {
		r.WallMS = spent + float64(time.Since(began).Milliseconds())
		often(r.Violated)
		often(r.Inherent)
		if o.Keep == nil {
			return nil
		}
		early := r
		early.Interrupted = true
		return o.Keep(early)
	}
	r.Interrupted = false
	err = p.all(ctx, bases)
	if err == nil || ctx.Err() != nil {
		r.Interrupted = ctx.Err() != nil
		r.WallMS = spent + float64(time.Since(began).Milliseconds())
		often(r.Violated)
		often(r.Inherent)
	}
	return r, err
}

type playing struct {
	Options
	r        *Results
	progress func(string)
	keep     func() error
	kept     int  // runs that the kept results count
	cut      bool // an interrupt left a unit undecided: no later one counts
	until    int  // units that an earlier command has counted
	cells    int  // of the levels so far
	units    int  // of the levels so far
	numbered int  // of them, those that the shard counts
}

// all plays the bases, and then level after level.
func (p *playing) all(ctx context.Context, bases []Base) error {
	roots, err := p.bases(ctx, bases)
	if err != nil {
		return err
	}
	var level []*built
	for _, root := range roots {
		if root != nil {
			level = append(level, &built{shown: *root})
		}
	}
	for i := range p.r.Bases {
		p.r.Bases[i].Placements, p.r.Bases[i].NotPlayed = 0, map[string]int{}
	}
	for depth := 1; depth <= p.Depth; depth++ {
		runs, err := p.level(ctx, level, depth < p.Depth)
		if err != nil || ctx.Err() != nil || depth == p.Depth {
			return err
		}
		level = nil
		for i, root := range roots {
			if root != nil {
				level = append(level, build(root, runs[&p.r.Bases[i]])...)
			}
		}
	}
	return nil
}

// bases plays the bases without a fault. A base whose worker was lost is nil.
func (p *playing) bases(ctx context.Context, bases []Base) ([]*shown, error) {
	var jobs []suite.Job
	for _, b := range bases {
		jobs = append(jobs, p.job(order{Base: b.Name, Build: true, Wide: 1, Cells: []cellOrder{{Name: b.Name}}}))
	}
	answers, err := suite.Round(ctx, p.Runner, jobs)
	if err != nil {
		return nil, err
	}
	roots := make([]*shown, len(bases))
	for i, b := range bases {
		w := newWorkload(b, p.Lock, p.Faults, &p.r.Bases[i])
		a := answers[i]
		all, err := seenIn(a, 1)
		if err != nil {
			return nil, fmt.Errorf("play base %s: %w", b.Name, err)
		}
		under := Placement{Base: b.Name}
		mine := i%p.Shard.Of+1 == p.Shard.Index && p.until == 0
		if all == nil { // the worker is gone
			if mine {
				p.count(w, under, b.Name, -1, lost(a, w, b.Name, under))
			}
			continue
		}
		out := &all[0]
		w.bare = *out
		if mine && len(out.Faulty)+len(out.Inherent) > 0 {
			p.count(w, under, b.Name, -1, *out)
		}
		w.counts.Moments = len(out.Moments)
		roots[i] = &shown{in: w, under: under, seen: out}
	}
	return roots, nil
}

func (p *playing) job(o order) suite.Job {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // names and numbers: cannot happen
	}
	return suite.Job{Scenario: o.Cells[0].Name, Lock: p.Lock.Name(), Seed: Seed, Kind: kind, Args: raw}
}

// seenIn reads the results of so many cells from an answer; nil if the worker is gone.
func seenIn(a suite.Answer, cells int) ([]seen, error) {
	all, err := suite.DecodeAs[[]seen](a.Out)
	switch {
	case a.Defect != "":
		return nil, errors.Join(err, errors.New(a.Defect))
	case err != nil || all == nil:
		return nil, err
	case len(*all) != cells:
		return nil, fmt.Errorf("the worker answered %d of %s", len(*all), english.Count(cells, "run"))
	}
	return *all, nil
}

type task struct {
	unit
	number  int  // among those that the shard counts, from 1; 0 where it is not of the shard
	counted bool // it is of the shard, and no earlier command has counted it
}

// tasks are the units of a level that are played. To be built upon, all placements
// are, whatever the shard.
func (p *playing) tasks(all []*built, further bool) iter.Seq[task] {
	return func(yield func(task) bool) {
		number := p.numbered
		for u := range enumerate(all, p.units, p.cells) {
			if u.left() && !u.audited() {
				continue
			}
			t := task{unit: u}
			if u.n%p.Shard.Of+1 == p.Shard.Index {
				number++
				t.number, t.counted = number, number > p.until
			}
			if (t.counted || further && !u.left()) && !yield(t) {
				return
			}
		}
	}
}

// census counts what is placed at a level, and what is left out.
func (p *playing) census(all []*built) (units, cells, numbered int) {
	for u := range enumerate(all, p.units, p.cells) {
		units++
		counts := u.in.in.counts
		for _, c := range u.cells {
			cells++
			counts.Placements++
			if c.rule != "" {
				counts.NotPlayed[c.rule]++
			}
		}
		if (!u.left() || u.audited()) && u.n%p.Shard.Of+1 == p.Shard.Index {
			numbered++
		}
	}
	for _, b := range all { // what never strikes in this topology
		n := b.rows() * len(b.seen.Moments) * b.in.unable
		b.in.counts.Placements += n
		b.in.counts.NotPlayed[Unavailable] += n
	}
	return units, cells, numbered
}

// level plays the placements in what is built upon. The runs come by their base,
// where they are to be built upon.
func (p *playing) level(ctx context.Context, all []*built, further bool) (map[*BaseCounts][]shown, error) {
	units, cells, numbered := p.census(all)
	total := 0
	for range p.tasks(all, further) {
		total++
	}
	runs := map[*BaseCounts][]shown{}
	q := &queue{waiting: map[int]task{}, answers: map[int]suite.Answer{}}
	jobs := func(yield func(suite.Job) bool) {
		id := 0
		for t := range p.tasks(all, further) {
			job := p.job(t.order(further, t.counted))
			job.ID = id
			id++
			q.asked(job.ID, t)
			if ctx.Err() != nil || !yield(job) {
				return
			}
		}
	}
	began, done := time.Now(), 0
	var failed error
	err := p.Runner.Stream(ctx, total, jobs, func(a suite.Answer) {
		q.answered(a, func(t task, a suite.Answer) {
			done++
			p.progress(estimate(done, total, time.Since(began)))
			counts := t.in.in.counts
			runs[counts] = append(runs[counts], p.take(ctx, t, a, further)...)
			if played := p.r.Total().Played; t.counted && played >= p.kept+keepEvery && failed == nil {
				p.kept = played
				failed = p.keep()
			}
		})
	})
	p.units += units
	p.cells += cells
	p.numbered += numbered
	return runs, errors.Join(err, failed)
}

// take takes in what came of a task. It returns the runs that are to be built upon.
func (p *playing) take(ctx context.Context, t task, a suite.Answer, further bool) []shown {
	if p.cut {
		return nil
	}
	all, err := seenIn(a, len(t.cells))
	if err == nil && all == nil {
		all, err = p.oneByOne(ctx, t, a, further)
	}
	if p.cut = err != nil && ctx.Err() != nil; p.cut {
		return nil
	}
	if err != nil {
		p.r.Defects = append(p.r.Defects, fmt.Sprintf("%s: %v", t.name(t.cells[0]), err))
		return nil
	}
	if t.counted {
		p.r.Done = t.number
		p.r.Commands += a.Run.Stats.Commands
		p.r.VirtualMS += int64(a.Run.Stats.VirtualMS)
	}
	var runs []shown
	for i, c := range t.cells {
		out := &all[i]
		if t.counted {
			p.cell(t, c, out)
		}
		switch {
		case !further || c.rule != "":
		case out.Same: // of the run before it: there is one row
			runs[len(runs)-1].rungs = append(runs[len(runs)-1].rungs, c.v)
		default:
			runs = append(runs, shown{t.in.in, t.placement(c), []int{c.v}, out})
		}
	}
	return runs
}

func (p *playing) cell(t task, c cell, out *seen) {
	w, rule := t.in.in, c.rule
	if out.Unplayed {
		return
	}
	if out.Same {
		rule = Outlasts
		w.counts.Outlasted++
	}
	switch {
	case out.Audited:
		p.r.Audit.Played++
		if out.Differs != "" {
			p.r.Audit.Differences = append(p.r.Audit.Differences, fmt.Sprintf("%s, %s, left out because of %q: %s", w.Name, t.placement(c).When(), rule, out.Differs))
		}
	case rule == "":
		p.count(w, t.placement(c), t.name(c), c.n, *out)
	}
}

// oneByOne plays the placements of a task whose worker is gone. Each is a job of its own,
// so that one of them is to blame. A shorter fault decides none of them.
func (p *playing) oneByOne(ctx context.Context, t task, a suite.Answer, further bool) ([]seen, error) {
	whole := t.order(further, t.counted)
	all := make([]seen, len(t.cells))
	if len(all) == 1 {
		all[0] = lost(a, t.in.in, whole.Cells[0].Name, t.placement(t.cells[0]))
		return all, nil
	}
	var jobs []suite.Job
	for i, c := range whole.Cells {
		one := whole
		one.Wide, one.Cells = 1, []cellOrder{c}
		job := p.job(one)
		job.ID = i
		jobs = append(jobs, job)
	}
	answers, err := suite.Round(ctx, p.Runner, jobs)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		one, err := seenIn(a, 1)
		switch {
		case err != nil:
			return nil, err
		case one == nil:
			all[i] = lost(a, t.in.in, whole.Cells[i].Name, t.placement(t.cells[i]))
		default:
			all[i] = one[0]
		}
	}
	return all, nil
}

func (p *playing) count(w *workload, at Placement, name string, n int, out seen) {
	p.r.take(w, at, name, n, out)
	if p.Found != nil && len(out.Faulty) > 0 {
		p.Found(causeOf(out.Faulty, 0, at, name, n, out.Source))
	}
}
