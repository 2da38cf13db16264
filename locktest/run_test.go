package locktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/scenarios"
)

// withMistake is a lock with a mistake, and known for what any lock of its kind
// does that sends a command again.
func withMistake(m mistake) locktest.Lock {
	const because = "go-redis sends a command again whose reply it did not get, and the lock does not recognize its own value"
	const late = "go-redis waits for a late reply longer than an acquire is to last"
	const gaveUp = "the lock calls the lock busy where its request was never answered"
	const ownValue = "a release that arrives late finds the next hold of the same owner, which has the same value"
	return locktest.Lock{
		Claims: locktest.Claims{Waits: true, Cancels: true, Lease: true},
		Busy:   errTaken, NotHeld: errGone,
		Known: []locktest.Known{
			{Scenario: "lost-acquire-reply", Property: "errors", Because: because},
			{Scenario: "lost-acquire-reply", Property: "linearizable", Because: because},
			{Scenario: "lost-release-reply", Property: "errors", Because: because},
			{Scenario: "stale-grant", Property: "lease", Because: "the lock believes a grant whose lease may have ended on the way"},
			{Scenario: "kept-away", Property: "linearizable", Because: gaveUp},
			{Scenario: "refused-acquire", Property: "linearizable", Because: gaveUp},
			{Scenario: "late-own-release", Property: "exclusion", Because: ownValue},
			{Scenario: "late-own-release", Property: "linearizable", Because: ownValue},
			{Scenario: "late-own-release", Property: "resource", Because: ownValue},
			{Scenario: "unheard-grant", Property: "errors", Because: because},
			{Scenario: "unheard-grant", Property: "linearizable", Because: because},
			{Scenario: "unheard-grant", Property: "progress", Because: late},
			{Scenario: "lost-release-reply", Property: "linearizable", Because: because},
			{Scenario: "crossed", Property: "count", Faults: []string{"hold-request"}, Because: ownValue},
			{Scenario: "crossed", Property: "linearizable", Faults: []string{"reset"}, Because: because},
			{Scenario: "crossed", Property: "errors", Faults: []string{"reset"}, Because: because},
		},
		New: func(c *locktest.Client, name, owner string) lock.Locker {
			mu := &mutex{c.Redis, name, owner, c.Lease, m}
			return &locktest.Funcs{Acquire: mu.Lock, Release: mu.Unlock}
		},
	}
}

// A lock that keeps what it promises passes, and so does the reference lock,
// given as anybody's would be.
func TestRun(t *testing.T) {
	locktest.Run(t, withMistake(none))
}

func TestReferenceLock(t *testing.T) {
	locktest.Run(t, reference)
}

// Every scenario that is not played is printed, with the claim that is missing.
func TestNotPlayedIsSaid(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRun$", "-test.v").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, want := range []string{
		"not played: it does not claim messages: woken-by-message, ",
		"not played: it does not claim reentrant: reentrancy, inner-release, ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// wrong is the environment variable that makes this program a test with a lock
// that is wrong.
const wrong = "LOCKTEST_MISTAKE"

var mistakes = map[string]mistake{"plain-delete": plainDelete, "read-then-del": readThenDel, "forever-busy": foreverBusy, "grants-always": grantsAlways}

// TestWrong runs below TestMistakes.
func TestWrong(t *testing.T) {
	m, ok := mistakes[os.Getenv(wrong)]
	if !ok {
		return // not asked for
	}
	locktest.Run(t, withMistake(m))
}

// TestWrongExplored runs below TestExploreFindsAMistake.
func TestWrongExplored(t *testing.T) {
	m, ok := mistakes[os.Getenv(wrong)]
	if !ok {
		return // not asked for
	}
	locktest.Explore(t, withMistake(m), locktest.Runs(40))
}

// Exploration finds a mistake without a scenario that is about it. It is reported once
// for all the runs that show it, and the command plays it first.
func TestExploreFindsAMistake(t *testing.T) {
	out := fails(t, "^TestWrongExplored$", wrong+"=plain-delete", "TMPDIR="+t.TempDir())
	const cause = "exclusion (contract broken) after no fault: "
	if n := strings.Count(out, cause); n > 1 {
		t.Errorf("%q is told %d times:\n%s", cause, n, out)
	}
	m := regexp.MustCompile(`(?s)(ownership|exclusion) .*?\n\s+runs:   \d+, the first is seed (\d+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no find, its count and its seed:\n%s", out)
	}
	if again := "again:  HOLDFAST_SEED=" + m[2] + " go test -count 1 -run '^TestWrongExplored$'"; !strings.Contains(out, again) {
		t.Errorf("it does not say %q:\n%s", again, out)
	}
}

// TestWrongExhausted runs below TestExhaustFindsAMistake.
func TestWrongExhausted(t *testing.T) {
	m, ok := mistakes[os.Getenv(wrong)]
	if !ok {
		return // not asked for
	}
	locktest.Exhaust(t, withMistake(m), locktest.Base("holder-and-waiter"), locktest.Faults("pause"))
}

// A search that places every fault in a wrong lock reports each cause once, with a
// scenario that shows it again.
func TestExhaustFindsAMistake(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, "^TestWrongExhausted$", wrong+"=plain-delete", "HOLDFAST_OUT="+dir)
	m := regexp.MustCompile(`(?s)linearizable after pause: .*?runs:   \d+, the first is (\S+): pause of client-\d.*?locktest.Files\("([^"]+)"\)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no find, its count and its file:\n%s", out)
	}
	if s, err := scenarios.Load(m[2]); err != nil || s.Name != m[1] {
		t.Errorf("the find is no scenario: %v", err)
	}
}

// A lock that is right passes, and the log says what was not covered.
func TestExhaustPassesARightLock(t *testing.T) {
	locktest.Exhaust(t, withMistake(none), locktest.Base("holder-and-waiter"), locktest.Faults("pause", "delete-key"), locktest.Part(2, 3))
}

// fails runs TestWrong in a process of its own, and returns what it says. env is
// added to its environment.
func fails(t *testing.T, pattern string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run", pattern)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing failed:\n%s", out)
	}
	return string(out)
}

// A mistake fails the scenario that is about it, with the property, the cause,
// and how to see it again.
func TestMistakes(t *testing.T) {
	for name, want := range map[string][]string{
		"plain-delete":  {"TestWrong/late-release", "exclusion violated (contract broken): ", "ownership violated: "},
		"read-then-del": {"TestWrong/check-then-delete", "exclusion violated (contract broken): "},
		"forever-busy":  {"TestWrong/contention", "progress violated: "},
		"grants-always": {"TestWrong/contention", "exclusion violated (contract broken): client-", " was granted the lock at "},
	} {
		t.Run(name, func(t *testing.T) {
			out := fails(t, "^TestWrong$/^"+strings.TrimPrefix(want[0], "TestWrong/"), wrong+"="+name, "HOLDFAST_OUT="+t.TempDir())
			for _, w := range append(want, "seed:   1\n", "again:  HOLDFAST_SEED=1 go test -count 1 -run '^TestWrong$/^") {
				if !strings.Contains(out, w) {
					t.Errorf("it does not say %q:\n%s", w, out)
				}
			}
		})
	}
}

var again = regexp.MustCompile(`again:  HOLDFAST_SEED=(\d+) go test -count 1 -run '(\S+)' github.com/holdfast-go/holdfast/locktest\n\s+report: holdfast report (\S+)`)

// The commands of a failing subtest give the same failure, and the report is there, in a
// run directory that the command reads.
func TestFailureCanBeRepeated(t *testing.T) {
	first := fails(t, "^TestWrong$/^late-release", wrong+"=plain-delete", "HOLDFAST_SEED=7", "TMPDIR="+t.TempDir())
	m := again.FindStringSubmatch(first)
	if m == nil || m[1] != "7" {
		t.Fatalf("it does not say how to repeat it:\n%s", first)
	}
	if _, err := os.Stat(filepath.Join(m[3], "results.json")); err != nil {
		t.Errorf("the run directory: %v", err)
	}
	second := fails(t, m[2], wrong+"=plain-delete", "HOLDFAST_SEED="+m[1], "TMPDIR="+t.TempDir())
	said := first[:strings.Index(first, "seed:")]
	said = said[strings.LastIndex(said, ".go:"):]
	if !strings.Contains(second, said) {
		t.Errorf("first\n%s\nand then\n%s", said, second)
	}
	if strings.Contains(second, "another history") {
		t.Errorf("it does not give the same history:\n%s", second)
	}
}

// TestWrongSeeds runs below TestTheSameViolationIsToldOnce.
func TestWrongSeeds(t *testing.T) {
	if m, ok := mistakes[os.Getenv(wrong)]; ok {
		locktest.Run(t, withMistake(m), locktest.Scenarios("late-release"), locktest.Seeds(5), locktest.User("careless"))
	}
}

// A violation that several seeds show is reported once, with their number.
func TestTheSameViolationIsToldOnce(t *testing.T) {
	out := fails(t, "^TestWrongSeeds$", wrong+"=plain-delete", "TMPDIR="+t.TempDir())
	if n := strings.Count(out, "again:  "); n != 1 || !strings.Contains(out, "5 of 5 seeds: exclusion violated contract broken") {
		t.Errorf("it is told %d times:\n%s", n, out)
	}
}
