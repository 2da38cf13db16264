package locktest

import (
	"cmp"
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

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
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
// HOLDFAST_SEED is the seed of the first run, and repeats a failure. HOLDFAST_OUT
// names a directory for the histories and reports of all runs, which the holdfast
// command can read. Without it a failing test keeps its own in a directory for
// temporary files.
//
// Subtests run one after the other. Do not run them in parallel with another Run:
// a run is repeatable only if it is alone in its process. A failure shows the
// output of package log, of log/slog's default and of go-redis during the run; a
// passing test drops it.
func Run(t *testing.T, l Lock, opts ...Option) {
	t.Helper()
	l.misuse = new(misuse)
	r := newRunner(t, l, opts)
	o, sub := r.options, r.subject
	r.begin(t, r.plan(t))
	careless := "" // why no user is careful
	for _, s := range o.scenarios {
		if ok, reason := s.scenario.Applies(sub); !ok {
			r.skipped = append(r.skipped, results.Skip{Scenario: s.scenario.Name, Lock: sub.Name(), Reason: reason})
			continue
		}
		users, missing := suite.UsersOf(s.scenario, sub, o.users)
		if missing != "" {
			r.skipped = append(r.skipped, results.Skip{Scenario: s.scenario.Name, Lock: sub.Name(), User: history.Careful, Reason: missing})
			careless = missing
		}
		for _, user := range users {
			if r.pointless {
				return // every other subtest would say the same
			}
			t.Run(subtest(s, user), func(t *testing.T) {
				r.told = map[string]int{}
				for n := range o.seeds {
					r.play(t, s, user, o.seed+uint64(n))
				}
				for _, what := range slices.Sorted(maps.Keys(r.told)) {
					if n := r.told[what]; n > 1 {
						t.Logf("%d of %d seeds: %s", n, o.seeds, what)
					}
				}
			})
		}
	}
	other := r.notPlayed()
	if len(other) == len(o.scenarios) {
		t.Errorf("none of the scenarios applies to the lock: %s", r.skipped[0].Reason)
	}
	r.counted(t)
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
	r.outdated(t, l.Known)
	r.summarize(t)
}

// subtest is the name of the test of a scenario with a kind of user.
func subtest(s source, user string) string {
	if user == "" {
		return s.scenario.Name
	}
	return s.scenario.Name + "-" + user
}

// notPlayed are the scenarios that were not played.
func (r *runner) notPlayed() []string {
	var names []string
	for _, s := range r.skipped {
		if s.User == "" && !slices.Contains(names, s.Scenario) {
			names = append(names, s.Scenario)
		}
	}
	return names
}

// reasons say why scenarios were not played, a line for each reason.
func (r *runner) reasons() string {
	var reasons []string
	names := map[string][]string{}
	for _, s := range r.skipped {
		if s.User != "" {
			continue
		}
		if !slices.Contains(reasons, s.Reason) {
			reasons = append(reasons, s.Reason)
		}
		if !slices.Contains(names[s.Reason], s.Scenario) {
			names[s.Reason] = append(names[s.Reason], s.Scenario)
		}
	}
	var b strings.Builder
	for _, reason := range reasons {
		fmt.Fprintf(&b, "\nnot played: %s: %s", reason, strings.Join(names[reason], ", "))
	}
	return b.String()
}

// runner plays one lock, and keeps what comes of it.
type runner struct {
	subject *locks.Subject
	version string // of the lock
	options options
	dir     suite.Dir
	runs    []results.Run
	skipped []results.Skip
	stored  map[string]bool // scenarios
	told    map[string]int  // how many seeds of a subtest were wrong in a way
	unseen  string          // the reason for which the servers do not show the holder

	misuse       *misuse
	pointless    bool     // whether the description of the lock is wrong: nothing else is to be learnt
	tests        []string // the subtests that were played
	troubles     troubles
	unrepeatable int // how many subtests gave another history with the same seed
}

// newRunner checks the lock and the options of a test.
func newRunner(t *testing.T, l Lock, opts []Option) *runner {
	t.Helper()
	o, err := newOptions(opts)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := l.forScenarios()
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	logging.Disable() // broken connections are the point here
	return &runner{subject: sub, version: l.Version, options: o, misuse: l.misuse}
}

// begin opens the run directory of a test.
func (r *runner) begin(t *testing.T, plan results.Results) {
	t.Helper()
	dir, err := directory(t.Name())
	if err == nil {
		r.dir, err = suite.Create(dir, plan)
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	t.Cleanup(func() { r.finish(t) })
}

// plan are the results of a test of which nothing has been played.
func (r *runner) plan(t *testing.T) results.Results {
	res := results.Results{Version: version.Holdfast, Command: again(t, r.options.seed)}
	for _, s := range r.options.scenarios {
		users, _ := suite.UsersOf(s.scenario, r.subject, r.options.users)
		for _, user := range users {
			for n := range r.options.seeds {
				res.Pending = append(res.Pending, filepath.ToSlash(suite.HistoryPath(s.scenario.Name, r.subject.Name(), r.options.seed+uint64(n), user)))
			}
		}
	}
	return res
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

// play plays one scenario once, and fails t when the lock does.
func (r *runner) play(t *testing.T, s source, user string, seed uint64) {
	t.Helper()
	if err := r.keep(s); err != nil {
		t.Fatalf("keep the scenario: %v", err)
	}
	s.scenario = s.scenario.PlayedBy(user)
	run := results.Run{Scenario: s.scenario.Name, Lock: r.subject.Name(), World: "sim", Seed: seed, User: user, File: s.file, LockVersion: r.version, Test: again(t, seed)}
	path := suite.HistoryPath(run.Scenario, run.Lock, seed, user)
	said, restore := capture()
	played, err := suite.Once(&run, s.scenario, r.subject, func() (*play.Played, error) { return r.once(s, seed) },
		suite.Keep{File: r.dir.File(path), Path: path})
	restore()
	var stalled *goroutines.Stall
	if why := r.wrongly(s, played); why != "" {
		t.Fatalf("%s\nNothing else is played.", why)
	}
	switch {
	case errors.Is(err, goroutines.ErrOfClient):
		t.Logf("seed %d is left out: %v", seed, goroutines.ErrOfClient)
		return
	case errors.As(err, &stalled):
		t.Fatalf("%v\n\nseed:   %d\nagain:  %s\n%s", stalled, seed, run.Test, said)
	case played == nil:
		t.Fatalf("the run is worthless: %v\n%s", err, said)
	case err != nil:
		t.Fatalf("a defect of holdfast: %v", err)
	}
	if nothing, reason := play.NothingToStrike(s.scenario, r.subject, played); nothing {
		defer t.Skipf("the scenario is not about this lock: %s", reason)
		r.skipped = append(r.skipped, results.Skip{Scenario: run.Scenario, Lock: run.Lock, User: user, Reason: reason})
		return
	}
	r.leaveOut(t, run, played)
	r.unseen = cmp.Or(r.unseen, played.History.Header.Unseen)
	r.runs = append(r.runs, run)
	if name := subtest(s, user); !slices.Contains(r.tests, name) {
		r.tests = append(r.tests, name)
	}
	if run.AsExpected {
		return
	}
	r.note(subtest(s, user), run)
	what := wrongIn(run)
	if r.told[what]++; r.told[what] == 1 {
		t.Error(r.complaint(t, s, run, played.History, said))
	}
}

// wrongly says why a run teaches nothing of the lock, and nor would any other: its
// description is wrong. It is "" where that is not so.
func (r *runner) wrongly(s source, played *play.Played) string {
	why := r.misuse.take()
	if why == "" && played != nil {
		why = wrongKey(r.subject, s.scenario.Workload.Names(), played)
	}
	r.pointless = r.pointless || why != ""
	return why
}

// once plays a run. It returns a [*goroutines.Stall] for one that does not end.
func (r *runner) once(s source, seed uint64) (*play.Played, error) {
	return guarded(func() (*play.Played, error) { return play.Simulate(s.scenario, r.subject, seed, version.Holdfast) })
}

func (r *runner) keep(s source) error {
	if r.stored[s.scenario.Name] {
		return nil
	}
	if r.stored == nil {
		r.stored = map[string]bool{}
	}
	r.stored[s.scenario.Name] = true
	return r.dir.WriteScenario(s.scenario.Name, s.text)
}

// wrongIn names what is wrong with a run, in the same words for each seed.
func wrongIn(run results.Run) string {
	var all []string
	if run.Failure != "" {
		all = append(all, "a failure")
	}
	for _, p := range unexpected(run) {
		v := run.Verdicts[p]
		all = append(all, strings.TrimRight(fmt.Sprintf("%s %s %s", p, v.Outcome, v.Class), " "))
	}
	return strings.Join(all, ", ")
}

// unexpected are the properties whose verdict is not the expected one, in order.
func unexpected(run results.Run) []checker.Property {
	var all []checker.Property
	for _, p := range checker.Properties() {
		if _, judged := run.Verdicts[p.Name]; judged && !run.Matches(p.Name) {
			all = append(all, p.Name)
		}
	}
	return all
}

// complaint says what is wrong with a run, and how to see it again.
func (r *runner) complaint(t *testing.T, s source, run results.Run, h *history.History, said *logged) string {
	var b strings.Builder
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n", run.Failure)
	}
	for _, l := range wrongLines(run) {
		fmt.Fprintf(&b, "%s %s: %s\n", english.And(l.names), l.what, l.reason)
	}
	b.WriteString(panicked(h))
	if slices.ContainsFunc(slices.Collect(maps.Values(run.Verdicts)), func(v checker.Verdict) bool { return v.Outcome == checker.Unknown }) {
		b.WriteString(firstFailure(h))
	}
	b.WriteString(unstruckIn(run, h))
	fmt.Fprintf(&b, "seed:   %d\nagain:  %s\nreport: holdfast report %s", run.Seed, run.Test, r.dir)
	if again, err := r.quietly(s, run.Seed); err == nil && again.History.Hash() != run.HistorySHA256 {
		b.WriteString("\nThe same seed gave another history the second time: the end of the test says why.")
		r.unrepeatable++
	}
	if log := said.String(); log != "" {
		b.WriteString("\n" + log)
	}
	return b.String()
}

// quietly plays a run once more, and shows nothing of what is logged.
func (r *runner) quietly(s source, seed uint64) (*play.Played, error) {
	_, restore := capture()
	defer restore()
	return r.once(s, seed)
}

// wrongLine is a line of a complaint: a reason, and the properties that are violated,
// or unknown, for it.
type wrongLine struct {
	names        []string
	what, reason string
}

// wrongLines are the lines of a complaint.
func wrongLines(run results.Run) []wrongLine {
	var lines []wrongLine
	for _, p := range unexpected(run) {
		v := run.Verdicts[p]
		what := string(v.Outcome)
		if v.Class != "" {
			what += " (" + v.Class + ")"
		}
		i := slices.IndexFunc(lines, func(l wrongLine) bool { return l.what == what && l.reason == v.Reason })
		if i < 0 {
			i = len(lines)
			lines = append(lines, wrongLine{what: what, reason: v.Reason})
		}
		lines[i].names = append(lines[i].names, string(p))
	}
	return lines
}

// firstFailure tells the first error that the lock returned: where nothing can be
// judged, that is usually why.
func firstFailure(h *history.History) string {
	for _, e := range h.Events {
		if (e.Kind == history.Fail || e.Kind == history.Info) && e.Result != nil && e.Result.Message != "" {
			return fmt.Sprintf("the first error: the %s of %s ended as %q at %v: %s\n", e.F, e.Owner, e.Result.Error, time.Duration(e.Time), e.Result.Message)
		}
	}
	return ""
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

// finish writes the report, or removes an unneeded one.
func (r *runner) finish(t *testing.T) {
	if !t.Failed() && os.Getenv(outVar) == "" {
		if err := os.RemoveAll(string(r.dir)); err != nil {
			t.Errorf("remove what was played: %v", err)
		}
		return
	}
	res := suite.Outcome{Runs: r.runs}.Results(again(t, r.options.seed), r.skipped)
	if err := r.dir.WriteResults(res); err != nil {
		t.Errorf("write the report: %v", err)
	}
}
