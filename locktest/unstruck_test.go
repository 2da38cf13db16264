package locktest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/locktest"
)

// pausing is a scenario with a pause, at a time that a short run never reaches or
// at one that it does.
func pausing(t *testing.T, at string) locktest.Option {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pausing.yaml")
	text := `scenario: pausing
title: A pause
story: A client is paused.
topology: {clients: 2}
workload: {holds: 2, lease: 10s, wait: 5s, think: 100ms, user: careless}
faults:
  - {fault: pause, target: client-1, at: ` + at + `, for: 50ms}
otherwise: The pause is short.
`
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o644))
	return locktest.Files(file)
}

const unneeded = "the pause comes after the run"

// TestStrikes runs below the test that follows.
func TestStrikes(t *testing.T) {
	l := withMistake(none)
	switch os.Getenv(wrong) {
	case "strikes":
		locktest.Run(t, l, pausing(t, "50ms"), locktest.CannotStrike("pausing", unneeded))
	case "unsaid":
		locktest.Run(t, l, pausing(t, "1h"))
	case "violates":
		l = withMistake(grantsAlways)
		locktest.Run(t, l, pausing(t, "1h"), locktest.CannotStrike("pausing", unneeded))
	case "unplayed":
		locktest.Run(t, l, pausing(t, "1h"), locktest.CannotStrike("contention", unneeded))
	case "unargued":
		locktest.Run(t, l, pausing(t, "1h"), locktest.CannotStrike("pausing", ""))
	}
}

// A scenario whose fault cannot strike proves nothing, so it fails. With the reason
// it is left out, until its faults strike or the lock violates something.
func TestAFaultThatCannotStrike(t *testing.T) {
	t.Run("argued", func(t *testing.T) {
		locktest.Run(t, withMistake(none), pausing(t, "1h"), locktest.Scenarios("contention"), locktest.CannotStrike("pausing", unneeded))
	})
	for how, want := range map[string]string{
		"strikes":  `CannotStrike names pausing, and with seed 1 all its faults struck: remove the option ("the pause comes after the run")`,
		"unsaid":   `use locktest.CannotStrike("pausing", "the reason")`,
		"violates": "exclusion violated",
		"unplayed": `CannotStrike names "contention", which is none of the scenarios to play`,
		"unargued": `CannotStrike("pausing", "") needs the reason`,
	} {
		t.Run(how, func(t *testing.T) {
			if out := fails(t, "^TestStrikes$", wrong+"="+how, "TMPDIR="+t.TempDir()); !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		})
	}
}
