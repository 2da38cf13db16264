package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The settings of a test run from outside.
const (
	// seedVar is the environment variable with the first seed to play.
	seedVar = "HOLDFAST_SEED"
	// outVar is the one with the directory to keep everything in: a run directory
	// for each test.
	outVar = "HOLDFAST_OUT"
)

// Run plays the catalogue of scenarios against a lock, or the scenarios that opts
// select, each as a subtest of its name. The log of t names each scenario that
// does not apply to the lock, with the reason. A subtest fails if the lock breaks
// a promise that it could have kept, or if a verdict is unknown.
//
// HOLDFAST_SEED is the seed of the first run, and repeats a failure. HOLDFAST_OUT names a
// directory for the histories and reports of all runs, which the holdfast command can
// read. Without it a failing test keeps its own in a directory for temporary files.
//
// Subtests run one after the other. Do not run them in parallel with another Run: a run
// is repeatable only if it is alone in its process. A failure shows the output of package
// log, of log/slog's default and of go-redis during the run; a passing test drops it.
func Run(t *testing.T, l Lock, opts ...Option) {
	t.Helper()
	l.misuse = new(misuse)
	r := newRunner(t, l, opts)
	o := r.options
	res, err := holdfast.Run(t.Context(), holdfast.Options{
		Scenarios: o.scenarios, Seed: o.seed, Seeds: o.seeds, Users: o.users, World: r, Dir: runDir(t), Command: again(t, o.seed),
	})
	var nothing *suite.NothingError
	switch {
	case errors.As(err, &nothing):
		res.Skipped = nothing.Skipped
	case err != nil && r.dir == "":
		t.Fatalf("locktest: %v", err)
	case err != nil:
		t.Errorf("write the report: %v", err)
	}
	if r.pointless {
		return
	}
	r.outdated(t, inCatalogue(l.Known))
	r.crossed(t, l.Known)
	r.tell(t, res)
	r.summarize(t)
}

// tell says what was played and what was not, and what the verdicts do not rest on.
func (r *runner) tell(t *testing.T, res results.Results) {
	t.Helper()
	r.counted(t, res)
	careless := ""
	for _, s := range res.Skipped[:len(res.Skipped)-len(r.skipped)] { // those of the plan
		if s.User == history.Careful {
			careless = s.Reason
		}
	}
	if careless != "" {
		t.Logf("not every scenario has a careful user: %s", careless)
	}
	if r.unseen != "" {
		t.Logf("ownership, lease and renewal are not judged, and the others by what clients saw alone: %s; see Lock.Holder", r.unseen)
	}
	if r.unrepeatable > 0 {
		t.Logf("in %d subtests the same seed gave another history the second time: the lock draws at random from elsewhere than Client.Rand,\n"+
			"such as crypto/rand or the order of a map; or its goroutines race within an instant; or go.mod of this module lacks the line\n"+
			"\"godebug randseednop=0\" that go-redis' own jitter needs", r.unrepeatable)
	}
}

// runner is the [suite.World] of a test with one lock. It implements [suite.World].
type runner struct {
	t       *testing.T
	tested  *locks.Lock
	version string // of the lock
	options options
	dir     suite.Dir
	jobs    []suite.Job // those of the plan
	runs    []results.Run
	skipped []results.Skip // runs that say nothing about the lock
	unseen  string         // the reason for which the servers do not show the holder

	misuse       *misuse
	pointless    bool     // whether the description of the lock is wrong: nothing else is to be learnt
	tests        []string // the subtests that were played
	troubles     troubles
	unrepeatable int // how many subtests gave another history with the same seed
}

func newRunner(t *testing.T, l Lock, opts []Option) *runner {
	t.Helper()
	o, err := newOptions(opts)
	if err != nil {
		t.Fatal(err)
	}
	tested, err := l.forScenarios()
	if err == nil {
		tested, err = tested.On(o.server)
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	logging.Disable() // broken connections are the point here
	return &runner{t: t, tested: tested, version: l.Version, options: o, misuse: l.misuse}
}

func (r *runner) Locks(context.Context, []string) ([]*locks.Lock, error) {
	return []*locks.Lock{r.tested}, nil
}

func (r *runner) Lacks(*scenarios.Scenario, *locks.Lock) (string, error) { return "", nil }

// Play implements [suite.World]. The seeds of a scenario and a user are one subtest.
func (r *runner) Play(_ context.Context, jobs []suite.Job, dir suite.Dir) suite.Outcome {
	r.jobs, r.dir = jobs, dir
	for seeds := range slices.Chunk(jobs, r.options.seeds) {
		if r.pointless {
			break // every other subtest would say the same
		}
		r.t.Run(subtest(seeds[0]), func(t *testing.T) { r.playSeeds(t, seeds) })
	}
	return suite.Outcome{Runs: r.runs, Skipped: r.skipped}
}

// subtest is the name of the test of a scenario with a kind of user.
func subtest(j suite.Job) string {
	if j.User == "" {
		return j.Scenario
	}
	return j.Scenario + "-" + j.User
}

// playSeeds plays one scenario with each seed. It complains once of each way in which a
// run goes wrong.
func (r *runner) playSeeds(t *testing.T, jobs []suite.Job) {
	seeds := map[string]int{} // by what is wrong with them
	for _, j := range jobs {
		p, said := r.play(t, j)
		if p == nil || p.run.AsExpected {
			continue
		}
		r.note(subtest(j), p.run)
		what := wrongIn(p.run)
		if seeds[what]++; seeds[what] == 1 {
			t.Error(r.complaint(p, said))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(seeds)) {
		if n := seeds[what]; n > 1 {
			t.Logf("%d of %d seeds: %s", n, len(jobs), what)
		}
	}
}

// judged is a run with its scenario and its history.
type judged struct {
	run      results.Run
	scenario *scenarios.Scenario
	history  *history.History
}

// play plays one run, and fails t when the run is worthless.
func (r *runner) play(t *testing.T, j suite.Job) (*judged, *logged) {
	t.Helper()
	s, err := j.Load()
	if err != nil {
		t.Fatalf("a defect of holdfast: %v", err)
	}
	run := j.Run("sim")
	run.LockVersion, run.Test = r.version, again(t, j.Seed)
	said, restore := capture()
	played, err := j.Once(&run, s, r.tested, func() (*play.Played, error) { return r.once(s, j.Seed) })
	restore()
	var stalled *goroutines.Stall
	if why := r.wrongly(s, played, run.Verdicts); why != "" {
		if played != nil && len(unexpected(run)) > 0 {
			why += "\nIf the description is right, this is wrong with the lock:\n" + r.complaint(&judged{run, s, played.History}, said)
		}
		t.Fatalf("%s\nNothing else is played.", why)
	}
	switch {
	case errors.Is(err, goroutines.ErrOfClient):
		t.Logf("seed %d is left out: %v", j.Seed, goroutines.ErrOfClient)
		return nil, nil
	case errors.As(err, &stalled):
		t.Fatalf("%v\n\nseed:   %d\nagain:  %s\n%s", stalled, j.Seed, run.Test, said)
	case played == nil:
		t.Fatalf("the run is worthless: %v\n%s", err, said)
	case err != nil:
		t.Fatalf("a defect of holdfast: %v", err)
	}
	if nothing, reason := play.NothingToStrike(s, r.tested, played); nothing {
		r.skipped = append(r.skipped, results.Skip{Scenario: run.Scenario, Lock: run.Lock, User: run.User, Reason: reason})
		t.Skipf("the scenario is not about this lock: %s", reason)
	}
	r.leaveOut(t, run, played)
	r.unseen = cmp.Or(r.unseen, played.History.Header.Unseen)
	r.runs = append(r.runs, run)
	if name := subtest(j); !slices.Contains(r.tests, name) {
		r.tests = append(r.tests, name)
	}
	return &judged{run, s, played.History}, said
}

// wrongly says why a run teaches nothing of the lock, and nor would any other: its
// description is wrong. It is "" where that is not so.
func (r *runner) wrongly(s *scenarios.Scenario, played *play.Played, verdicts map[checker.Property]checker.Verdict) string {
	why := r.misuse.take()
	if why == "" && played != nil {
		why = wrongKey(r.tested, s.Workload.Names(), played)
	}
	if why == "" && played != nil && r.tested.Holders != nil && !wrongToClients(verdicts) {
		why = wrongHolders(r.tested, played.History)
	}
	r.pointless = r.pointless || why != ""
	return why
}

// detector gives up a run that does not end, and leaves it behind.
var detector = goroutines.Detector{Most: time.Minute}

// once plays a run. It returns a [*goroutines.Stall] for one that does not end.
func (r *runner) once(s *scenarios.Scenario, seed uint64) (*play.Played, error) {
	var played *play.Played
	var err error
	if stall := detector.Watch(func() { played, err = play.Simulate(s, r.tested, seed, version.Holdfast) }); stall != nil {
		return nil, stall // what is left behind may still write
	}
	return played, err
}

// again is the command that plays a test again, from a seed on.
func again(t *testing.T, seed uint64) string {
	return command(t.Name(), seed)
}

// command is the one that plays a test of a name, from a seed on.
func command(test string, seed uint64) string {
	words := fmt.Sprintf("%s=%d go test -count 1 -run '%s'", seedVar, seed, pattern(test))
	if info, ok := debug.ReadBuildInfo(); ok {
		if tested, isTest := strings.CutSuffix(info.Path, ".test"); isTest {
			words += " " + tested
		}
	}
	return words
}

// pattern is the argument of go test -run for one subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}

// runDir chooses the run directory of a test. The end of the test removes an unneeded
// one.
func runDir(t *testing.T) string {
	t.Helper()
	dir, err := directory(t.Name())
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() || os.Getenv(outVar) != "" {
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove what was played: %v", err)
		}
	})
	return dir
}

// directory is the path of a directory for the results of a test. It exists if it is
// a temporary one.
func directory(test string) (string, error) {
	name := strings.NewReplacer("/", "-", "\\", "-", " ", "-").Replace(test)
	if out := os.Getenv(outVar); out != "" {
		return filepath.Join(out, name), nil
	}
	dir, err := os.MkdirTemp("", "holdfast-"+name+"-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the results: %w", err)
	}
	return dir, nil
}
