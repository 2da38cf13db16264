package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// batch is how many runs are steered by the coverage of all that came before
// them. A run's scenario depends on that, so a batch is over before the next
// one is drawn, and the same seed and shard give the same runs on any number of
// workers.
const batch = 500

// exploration is an exploration under way. Its runs are counted from 0 in its
// own shard, and taken in in that order.
type exploration struct {
	flags exploreFlags
	tally *explore.Tally
	known []explore.Cause

	began   time.Time
	holes   []explore.Cell       // that the present batch is steered to
	steer   chan []explore.Cell  // those of the next batch
	waiting map[int]suite.Answer // for earlier runs
	taken   int                  // runs taken in
	over    bool                 // by a find
}

func newExploration(f exploreFlags, v explore.Vocabulary, known []explore.Cause) *exploration {
	x := &exploration{flags: f, known: known, waiting: map[int]suite.Answer{}, steer: make(chan []explore.Cell, 1),
		tally: explore.NewTally(explore.Results{
			Version: version, Command: exploreCommand(f), Lock: f.lock, Seed: f.seed, Shard: f.part.index, Of: f.part.of, Budget: f.runs, Vocabulary: v,
		})}
	x.holes = x.tally.Coverage.Holes(v.Faults)
	return x
}

// total is how many runs the shard has; as good as endless without --runs.
func (x *exploration) total() int {
	if x.flags.runs == 0 {
		return 1 << 40
	}
	return x.flags.part.size(x.flags.runs)
}

func (x *exploration) play(ctx context.Context, stderr io.Writer) error {
	x.began = time.Now()
	enough, stop := context.WithCancel(ctx)
	defer stop()
	x.steer <- x.holes
	known := int64(-1) // how many runs there will be: nobody knows without --runs
	if x.flags.runs > 0 {
		known = int64(x.total())
	}
	bar := startProgress(stderr, known, "exploring")
	err := x.pool().Stream(ctx, min(x.total(), 1<<20), x.jobs(enough), func(a suite.Answer) {
		x.waiting[a.ID] = a
		x.take()
		if x.over {
			stop()
		}
		bar.now(x.now())
		bar.step()
	})
	bar.done()
	x.tally.WallMS = float64(time.Since(x.began).Milliseconds())
	x.tally.Interrupted = ctx.Err() != nil
	return err
}

// now says what is under way.
func (x *exploration) now() string {
	spent := time.Since(x.began)
	text := fmt.Sprintf("exploring: %s, %.0f/s, %d violated", english.Count(x.taken, "run"), float64(x.taken)/spent.Seconds(), x.tally.Violated)
	if x.flags.time > 0 {
		text += fmt.Sprintf(", %.0f of %.0f s", spent.Seconds(), x.flags.time.Seconds())
	}
	return text
}

func (x *exploration) pool() workers.Pool {
	return workers.Pool{Exe: testOnlyWorker, Workers: x.flags.workers, Stall: x.flags.stall}
}

// jobs are the runs, until there is enough.
func (x *exploration) jobs(enough context.Context) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		var holes []explore.Cell
		for run := range x.total() {
			if run%batch == 0 {
				select {
				case holes = <-x.steer:
				case <-enough.Done():
					return
				}
			}
			if enough.Err() != nil || x.flags.time > 0 && time.Since(x.began) >= x.flags.time {
				return
			}
			if !yield(x.job(run, holes)) {
				return
			}
		}
	}
}

func (x *exploration) job(run int, holes []explore.Cell) suite.Job {
	seed := x.flags.part.seed(x.flags.seed, run)
	return explore.DrawnJob(run, x.flags.lock, seed, explore.Plan{Vocabulary: x.tally.Vocabulary, Holes: holes})
}

// take takes in the answers whose turn has come. What comes after the find that
// ends it all does not count, so that it is the same find on any number of
// workers.
func (x *exploration) take() {
	for !x.over {
		a, here := x.waiting[x.taken]
		if !here {
			return
		}
		delete(x.waiting, x.taken)
		x.taken++
		x.add(a)
		if x.taken%batch == 0 {
			x.holes = x.tally.Coverage.Holes(x.tally.Vocabulary.Faults)
			x.steer <- x.holes
		}
	}
}

func (x *exploration) add(a suite.Answer) {
	if a.Defect != "" {
		x.tally.Defects = append(x.tally.Defects, fmt.Sprintf("seed %d: %s", a.Run.Seed, a.Defect))
		return
	}
	seen := explore.SeenIn(a)
	if seen == nil { // the worker is gone
		seen = x.lost(a)
	}
	x.tally.Ops += a.Run.Stats.Ops
	x.tally.Commands += a.Run.Stats.Commands
	x.tally.VirtualMS += a.Run.Stats.VirtualMS
	x.tally.Add(a.Run.Seed, *seen)
	if seen.Cause != nil && !x.flags.all && !slices.ContainsFunc(x.known, func(k explore.Cause) bool { return k.Explains(*seen.Cause) }) {
		x.over = true
	}
}

// lost is what a run has shown whose worker process ended or was ended. Where
// somebody waits for a mutex that is held across a wait for the network, virtual
// time stands still: nobody knows what would have come of it.
func (x *exploration) lost(a suite.Answer) *explore.Seen {
	if a.Killed {
		return &explore.Seen{Unknown: "the worker process was killed from outside, as the kernel does when memory is short"}
	}
	if strings.Contains(a.Run.Failure, "Mutex.Lock, synctest bubble") {
		return &explore.Seen{Unknown: "a mutex is held across a wait for the network, which the simulated world cannot play"}
	}
	cause := explore.Hung()
	_, _, source, err := explore.DrawFor(x.job(a.ID, x.holes))
	if err != nil {
		x.tally.Defects = append(x.tally.Defects, fmt.Sprintf("seed %d: %v", a.Run.Seed, err))
	}
	return &explore.Seen{Cause: &cause, Source: string(source)}
}

// keep shrinks the finds, and writes the results and the finds: the scenario
// and the history of the first run of each, which is played once more for that,
// and what is left of it. It notes in r where they are. Until all is written,
// the results say that they are interrupted.
func (x *exploration) keep(ctx context.Context, dir suite.Dir, r *explore.Results, stderr io.Writer) error {
	if len(r.Causes) > 0 {
		if err := os.MkdirAll(dir.File("finds"), 0o755); err != nil {
			return fmt.Errorf("write finds: %w", err)
		}
	}
	early := *r
	early.Interrupted = true // should somebody kill the command from here on
	if err := writeJSON(dir.File(exploreResults), early); err != nil {
		return err
	}
	if x.flags.shrink {
		if err := x.shrinkFinds(ctx, dir, r, stderr); err != nil {
			return err
		}
	}
	if err := x.keepFinds(context.WithoutCancel(ctx), dir, r); err != nil {
		return err
	}
	if x.flags.catalogue {
		var err error
		if r.Catalogue, err = x.recall(context.WithoutCancel(ctx), r.Causes); err != nil {
			return err
		}
	}
	r.Interrupted = r.Interrupted || ctx.Err() != nil
	return writeJSON(dir.File(exploreResults), r)
}

func (x *exploration) keepFinds(ctx context.Context, dir suite.Dir, r *explore.Results) error {
	var jobs []suite.Job
	for i := range r.Causes {
		c := &r.Causes[i]
		if c.Under != "" || c.Known {
			continue
		}
		c.Scenario = path.Join("finds", c.Key+".yaml")
		source := x.tally.Samples(c.Key)[0].Source
		if err := whole.Bytes(dir.File(c.Scenario), []byte(source)); err != nil {
			return fmt.Errorf("write find: %w", err)
		}
		if c.HistorySHA256 == "" {
			continue // it never ended
		}
		history := path.Join("finds", c.Key+".jsonl")
		jobs = append(jobs, suite.Job{ID: i, Scenario: c.Key, File: c.Scenario, Source: source, Lock: x.flags.lock, Seed: c.FirstSeed, History: dir.File(history), Path: history})
	}
	var failed error
	err := x.pool().Play(ctx, jobs, func(a suite.Answer) {
		c := &r.Causes[a.ID]
		c.History = a.Run.History
		switch {
		case a.Killed:
			failed = &exitError{code: exitUnknown, msg: a.Run.Failure, hints: []string{workers.KilledHint}}
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

// readKnown reads the causes of another exploration; none when path is empty.
func readKnown(path string) ([]explore.Cause, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r explore.Results
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != explore.Schema {
		return nil, fmt.Errorf("%s: the schema is %q, not %q", path, r.Schema, explore.Schema)
	}
	var known []explore.Cause
	for _, c := range r.Causes {
		known = append(known, c.Cause, c.Least())
	}
	return known, nil
}
