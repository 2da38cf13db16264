package locktest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// misused are locks that are described or written wrongly.
func misused(how string) (locktest.Lock, bool) {
	l := withMistake(none)
	l.Known = nil
	of := func(c *locktest.Client, name, owner string) *mutex {
		return &mutex{c.Redis, name, owner, c.Lease, none}
	}
	l.New = func(c *locktest.Client, name, owner string) lock.Locker {
		m := of(c, name, owner)
		f := &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
		switch how {
		case "nil":
			return nil
		case "no-acquire":
			f.Acquire = nil
		case "new-panics":
			panic("cannot be made")
		case "panics":
			f.Acquire = panics
		case "other-key":
			m.name = "lock:" + name
		}
		return f
	}
	switch how {
	case "no-lost-sign":
		l.Claims.LostSign = true
	case "outdated":
		l.Known = []locktest.Known{{Scenario: "contention", Property: "errors", Because: "#12"}, {Scenario: "late-release", Property: "errors", Because: "#13"}}
	case "nil", "no-acquire", "new-panics", "panics", "other-key":
	default:
		return l, false
	}
	return l, true
}

func panics(context.Context) error { panic("out of luck") }

// TestMisused runs below the tests that follow.
func TestMisused(t *testing.T) {
	if l, ok := misused(os.Getenv(wrong)); ok {
		locktest.Run(t, l, locktest.Scenarios("contention", "late-release"))
	}
}

// TestMisusedExplored runs below TestAMistakeInTheDescriptionIsNamed.
func TestMisusedExplored(t *testing.T) {
	if l, ok := misused(os.Getenv(wrong)); ok {
		locktest.Explore(t, l, locktest.Runs(3))
	}
}

// A wrong description of a lock is reported in a sentence, and once.
func TestAMistakeInTheDescriptionIsNamed(t *testing.T) {
	for how, want := range map[string]string{
		"nil":          "returned nil in the place of a lock: return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}",
		"no-acquire":   "locktest.Funcs needs Acquire: return &locktest.Funcs{",
		"no-lost-sign": "locktest.Funcs needs LostSign, because of Claims.LostSign: ",
		"new-panics":   "New, or Session.Locker, panicked: cannot be made\n",
		"other-key":    `Lock.Key does not match: it says that the lock "stock" is the key "stock", which the lock never wrote. It wrote "lock:stock". Say which of them is the lock, with {name} for its name, such as Key: "lock:{name}"`,
	} {
		t.Run(how, func(t *testing.T) {
			for _, test := range []string{"^TestMisused$", "^TestMisusedExplored$"} {
				if out := fails(t, test, wrong+"="+how, "TMPDIR="+t.TempDir()); strings.Count(out, want) != 1 {
					t.Errorf("%s says %d times %q:\n%s", test, strings.Count(out, want), want, out)
				}
			}
		})
	}
}

// A panic is reported with the place in the lock where it happened.
func TestAPanicIsToldWithItsStack(t *testing.T) {
	out := fails(t, "^TestMisused$/^contention$", wrong+"=panics", "TMPDIR="+t.TempDir())
	for _, want := range []string{"panic: out of luck\n", "locktest_test.panics", "misuse_test.go:"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "holdfast/play.") {
		t.Errorf("it shows the harness:\n%s", out)
	}
}

// A violation that the lock is known for and that is gone fails the test, where all
// of its scenario was played.
func TestAKnownViolationThatIsGone(t *testing.T) {
	const gone = "Known has errors in contention, and no run shows that any more: remove the entry"
	if out := fails(t, "^TestMisused$", wrong+"=outdated", "TMPDIR="+t.TempDir()); !strings.Contains(out, gone) {
		t.Errorf("it does not say %q:\n%s", gone, out)
	}
	out := fails(t, "^TestMisused$/^late-release", wrong+"=outdated", "TMPDIR="+t.TempDir())
	if strings.Contains(out, gone) || !strings.Contains(out, "Known has errors in late-release") {
		t.Errorf("a slice was played, and it says:\n%s", out)
	}
}

// TestWrongTwice runs below TestCausesAreSummedUp.
func TestWrongTwice(t *testing.T) {
	if m, ok := mistakes[os.Getenv(wrong)]; ok {
		locktest.Run(t, withMistake(m), locktest.Scenarios("late-release", "holder-pause", "reentrancy"), locktest.User("careless"))
	}
}

// A test with -run counts what it played, and not what it could have played.
func TestASliceIsCountedAsOne(t *testing.T) {
	out := fails(t, "^TestWrongTwice$/^late-release$", wrong+"=plain-delete", "TMPDIR="+t.TempDir())
	if want := "3 scenarios chosen: 1 were played, as 1 subtest, one for each kind of user; not selected: 1; left out: 1"; !strings.Contains(out, want) {
		t.Errorf("it does not say %q:\n%s", want, out)
	}
}

// The end of a test sums up what went wrong, once for each cause, and says what was
// played.
func TestCausesAreSummedUp(t *testing.T) {
	out := fails(t, "^TestWrongTwice$", wrong+"=plain-delete", "TMPDIR="+t.TempDir())
	for _, want := range []string{
		"2 of the 2 subtests that were played went wrong:", "linearizable violated in 2: late-release, holder-pause\n", "    such as: client-",
		"3 scenarios chosen: 2 were played, as 2 subtests, one for each kind of user; left out: 1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// TestTwice runs below TestAScenarioIsNamedOnce.
func TestTwice(t *testing.T) {
	if os.Getenv(wrong) == "twice" {
		locktest.Run(t, withMistake(none), locktest.Scenarios("contention", "contention"))
	}
}

// A scenario that is named twice is an error with a remedy.
func TestAScenarioIsNamedOnce(t *testing.T) {
	const want = `Scenarios names "contention" twice, and it is played once for each seed: leave one out, or ask for more seeds with Seeds(2)`
	if out := fails(t, "^TestTwice$", wrong+"=twice"); !strings.Contains(out, want) {
		t.Errorf("it does not say %q:\n%s", want, out)
	}
}
