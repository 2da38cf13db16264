package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Sameness is the comparison of a replayed run with its stored history.
type Sameness string

// The degrees to which a second play is the same.
const (
	Same       Sameness = "same"
	SameEvents Sameness = "same events" // under another header, as an older release wrote it
	Different  Sameness = "different"
	Failed     Sameness = "failed"      // through a defect of holdfast
	Killed     Sameness = "killed"      // the process that played it was, from outside
	Unplayed   Sameness = "interrupted" // before it was over
)

// Replayed is the outcome of a replayed run.
type Replayed struct {
	Run      results.Run
	Sameness Sameness
	Hash     string     // of the new history
	Reason   string     // why the run failed, was killed, or did not end
	Seen     *play.Seen // nil when nothing was to be looked at, or the run did not end
}

// Words describes the outcome in a line.
func (r Replayed) Words() string {
	what, how := fmt.Sprintf("%.12s", r.Hash), r.Sameness
	switch how {
	case Failed, Killed:
		what = r.Reason
	case Different:
		what += fmt.Sprintf(", stored %.12s", r.Run.HistorySHA256)
	case SameEvents:
		how = Same
		what = fmt.Sprintf("%.12s: the same events; the header is of an older release", r.Run.HistorySHA256)
	}
	return fmt.Sprintf("%-10s %s %s seed %d: %s", how, r.Run.Scenario, r.Run.Lock, r.Run.Seed, what)
}

// NotReplayableError reports a run that cannot be replayed from its directory.
type NotReplayableError struct{ Run results.Run }

func (e *NotReplayableError) Error() string {
	if e.Run.Test != "" {
		return fmt.Sprintf("%s with %s was played by a go test, which has the lock", e.Run.Scenario, e.Run.Lock)
	}
	return fmt.Sprintf("%s with %s was played in the %s world, which cannot repeat a run", e.Run.Scenario, e.Run.Lock, e.Run.World)
}

// replayKind plays a stored run again; Args is a [replayArgs], and Out a [replayOut].
const replayKind = "replay"

func init() { RegisterKind(replayKind, replayRun) }

type replayArgs struct {
	Stored string     `json:"stored,omitempty"` // the file of the stored history
	SHA256 string     `json:"sha256"`
	Watch  play.Watch `json:"watch"`
}

type replayOut struct {
	SameEvents bool       `json:"same_events"`
	Seen       *play.Seen `json:"seen,omitempty"`
}

// replayRun plays a run and looks at what goes on meanwhile. When its history is
// not the stored one it compares the events alone.
func replayRun(j Job, a Answer, g Guard) Answer {
	args, err := DecodeAs[replayArgs](j.Args)
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	var out replayOut
	_, p := a.Play(j, g, func(s *scenarios.Scenario, l *locks.Lock) (p *play.Played, err error) {
		p, out.Seen, err = play.SimulateWatched(s, l, j.Seed, version.Holdfast, args.Watch)
		return p, err
	})
	if p == nil {
		return a
	}
	if a.Run.HistorySHA256 != args.SHA256 && args.Stored != "" {
		stored, err := ReadHistory(args.Stored)
		out.SameEvents = err == nil && eventsHash(stored) == eventsHash(p.History)
	}
	a.Give(out)
	return a
}

func eventsHash(h *history.History) string { return (&history.History{Events: h.Events}).Hash() }

// ReplayJobs makes a job of every run, in order: it plays the run again from
// what the directory has stored, and looks at it.
func (d Dir) ReplayJobs(runs []results.Run, look play.Watch) ([]Job, error) {
	var jobs []Job
	for i, r := range runs {
		if r.Test != "" || r.World != "sim" {
			return nil, &NotReplayableError{r}
		}
		path := d.File("scenarios", r.Scenario+".yaml")
		src, err := scenarios.ReadSource(path)
		if err != nil {
			return nil, err
		}
		if _, err := scenarios.Parse(path, src); err != nil {
			return nil, err
		}
		args := replayArgs{SHA256: r.HistorySHA256, Watch: look}
		if r.History != "" {
			args.Stored = d.File(r.History)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("encode job: %w", err)
		}
		jobs = append(jobs, Job{ID: i, Scenario: r.Scenario, File: r.Scenario + ".yaml", Source: string(src), Lock: r.Lock, Seed: r.Seed, User: r.User, Server: r.Server, Kind: replayKind, Args: raw})
	}
	return jobs, nil
}

// Replay plays every run of the directory again and compares the histories.
func (d Dir) Replay(ctx context.Context, r Runner) ([]Replayed, error) {
	res, err := d.ReadResults()
	if err != nil {
		return nil, err
	}
	jobs, err := d.ReplayJobs(res.Runs, play.Watch{})
	if err != nil {
		return nil, err
	}
	return Replay(ctx, jobs, res.Runs, r, func() {})
}

// Replay plays the jobs of [Dir.ReplayJobs] and compares the histories with the
// stored ones. It calls step after each.
func Replay(ctx context.Context, jobs []Job, runs []results.Run, r Runner, step func()) ([]Replayed, error) {
	all := make([]Replayed, len(runs))
	for i, run := range runs {
		all[i] = Replayed{Run: run, Sameness: Unplayed}
	}
	var damaged error
	err := r.Play(ctx, jobs, func(a Answer) {
		if err := all[a.ID].take(a); err != nil {
			damaged = err
		}
		step()
	})
	return all, cmp.Or(err, damaged)
}

// take stores the answer to the job.
func (r *Replayed) take(a Answer) error {
	r.Hash, r.Reason = a.Run.HistorySHA256, a.Run.Failure
	out, err := DecodeAs[replayOut](a.Out)
	if err != nil {
		return err
	}
	if out != nil {
		r.Seen = out.Seen
	}
	switch {
	case a.Defect != "":
		r.Sameness, r.Reason = Failed, a.Defect
	case a.Killed:
		r.Sameness = Killed
	case r.Hash == r.Run.HistorySHA256:
		r.Sameness = Same
	case out != nil && out.SameEvents:
		r.Sameness = SameEvents
	default:
		r.Sameness = Different
	}
	return nil
}

// shownChoices is the number of runs that an error offers.
const shownChoices = 8

// Choices is a hint that lists runs to choose from.
func Choices(runs []results.Run) string {
	all := english.Words(runs, func(r results.Run) string {
		return fmt.Sprintf("--scenario %s --lock %s --seed %d", r.Scenario, r.Lock, r.Seed)
	})
	if more := len(all) - shownChoices; more > 0 {
		all = append(all[:shownChoices], fmt.Sprintf("or one of %d more", more))
	}
	return "it holds\n  " + strings.Join(all, "\n  ")
}
