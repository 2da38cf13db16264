package explore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// batch is the number of runs that the coverage of all earlier ones steers. A batch is
// over before the next one is drawn. So the same seed and shard give the same runs on
// any number of workers.
const batch = 500

type Options struct {
	Lock       string
	Seed       uint64        // of the first run of the first shard
	Runs       int           // of all shards together; 0 for as many as Time allows
	Time       time.Duration // real time to play; 0 for as long as it takes
	All        bool          // do not stop at the first violation
	Shard      suite.Shard
	Vocabulary draw.Vocabulary
	Known      []search.Cause // they are counted, and are no find
	Shrink     bool           // make every find small
	Catalogue  bool           // look which hazards of the catalogue were found
	Command    string         // how to do it again
	Runner     suite.Streamer
}

// Exploration is an exploration under way. It counts its runs from 0 in its own
// shard, and takes them in in that order.
type Exploration struct {
	Options
	tally *Tally

	began   time.Time
	holes   []draw.Cell          // that the present batch is steered to
	steer   chan []draw.Cell     // those of the next batch
	waiting map[int]suite.Answer // for earlier runs
	taken   int                  // runs taken in
	over    bool                 // by a find
}

// New is an exploration that has played nothing yet.
func New(o Options) *Exploration {
	x := &Exploration{Options: o, waiting: map[int]suite.Answer{}, steer: make(chan []draw.Cell, 1), tally: NewTally(Results{
		Envelope: search.Envelope{Header: search.NewHeader(Kind.Name, o.Command), Shard: o.Shard.Index, Of: o.Shard.Of},
		Lock:     o.Lock, Seed: o.Seed, Budget: o.Runs, Vocabulary: o.Vocabulary,
	})}
	x.holes = x.tally.Coverage.Holes(o.Vocabulary.Faults)
	return x
}

// Total is the number of runs of the shard; without Options.Runs as good as endless.
func (x *Exploration) Total() int {
	if x.Runs == 0 {
		return 1 << 40
	}
	return x.Shard.Size(x.Runs)
}

// Play plays the runs, and says what they have shown. It calls progress after
// each with what is under way.
func (x *Exploration) Play(ctx context.Context, progress func(string)) (Results, error) {
	x.began = time.Now()
	enough, stop := context.WithCancel(ctx)
	defer stop()
	x.steer <- x.holes
	err := x.Runner.Stream(ctx, min(x.Total(), 1<<20), x.jobs(enough), func(a suite.Answer) {
		x.waiting[a.ID] = a
		x.take()
		if x.over {
			stop()
		}
		progress(x.now())
	})
	x.tally.WallMS = float64(time.Since(x.began).Milliseconds())
	x.tally.Interrupted = ctx.Err() != nil
	r := x.tally.Finish()
	markKnown(r.Causes, x.Known)
	return r, err
}

func (x *Exploration) now() string {
	spent := time.Since(x.began)
	text := fmt.Sprintf("exploring: %s, %.0f/s, %d violated", english.Count(x.taken, "run"), float64(x.taken)/spent.Seconds(), x.tally.Violated)
	if x.Time > 0 {
		text += fmt.Sprintf(", %.0f of %.0f s", spent.Seconds(), x.Time.Seconds())
	}
	return text
}

// jobs are the runs, until there is enough.
func (x *Exploration) jobs(enough context.Context) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		var holes []draw.Cell
		for run := range x.Total() {
			if run%batch == 0 {
				select {
				case holes = <-x.steer:
				case <-enough.Done():
					return
				}
			}
			if enough.Err() != nil || x.Time > 0 && time.Since(x.began) >= x.Time {
				return
			}
			if !yield(x.job(run, holes)) {
				return
			}
		}
	}
}

func (x *Exploration) job(run int, holes []draw.Cell) suite.Job {
	seed := x.Shard.Seed(x.Seed, run)
	return DrawnJob(run, x.Lock, seed, Plan{Vocabulary: x.Vocabulary, Holes: holes})
}

// take adds the answers whose turn has come. The answers after the find that ends the
// exploration do not count, so it is the same find on any number of workers.
func (x *Exploration) take() {
	for !x.over {
		a, here := x.waiting[x.taken]
		if !here {
			return
		}
		delete(x.waiting, x.taken)
		x.taken++
		x.add(a)
		if x.taken%batch == 0 {
			x.holes = x.tally.Coverage.Holes(x.Vocabulary.Faults)
			x.steer <- x.holes
		}
	}
}

func (x *Exploration) add(a suite.Answer) {
	if a.Defect != "" {
		x.tally.Defects = append(x.tally.Defects, fmt.Sprintf("seed %d: %s", a.Run.Seed, a.Defect))
		return
	}
	seen := SeenIn(a)
	if seen == nil { // the worker is gone
		seen = x.lost(a)
	}
	x.tally.Ops += a.Run.Stats.Ops
	x.tally.Commands += a.Run.Stats.Commands
	x.tally.VirtualMS += a.Run.Stats.VirtualMS
	x.tally.Add(a.Run.Seed, *seen)
	if seen.Cause != nil && !x.All && !slices.ContainsFunc(x.Known, func(k search.Cause) bool { return k.Explains(*seen.Cause) }) {
		x.over = true
	}
}

// lost is the result of a run whose worker process ended or was ended. Virtual time
// stands still while an owner waits for a mutex that is held across a wait for the
// network. Such a run proves nothing.
func (x *Exploration) lost(a suite.Answer) *Seen {
	if a.Killed {
		return &Seen{Unknown: "the worker process was killed from outside, as the kernel does when memory is short"}
	}
	if a.Stalled == goroutines.Deadlocked || a.Stalled == goroutines.ClientDeadlocked {
		return &Seen{Unknown: "a mutex is held across a wait for the network, which the simulated world cannot play"}
	}
	hung := search.Hung()
	var source []byte
	_, s, err := DrawFor(x.job(a.ID, x.holes))
	if err == nil {
		source, err = s.YAML()
	}
	if err != nil {
		x.tally.Defects = append(x.tally.Defects, fmt.Sprintf("seed %d: %v", a.Run.Seed, err))
	}
	return &Seen{Cause: &hung, Source: string(source)}
}
