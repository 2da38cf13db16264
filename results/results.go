// Package results is the document that a run writes and a report reads: every
// run with its verdicts, as JSON.
package results

import "github.com/holdfast-go/holdfast/checker"

// Schema names the format of [Results] as JSON.
const Schema = "holdfast-results/1"

// Results is everything one invocation of holdfast found out.
type Results struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Command string `json:"command,omitempty"` // how to do it again
	// Made says when, by which build and where; nil where nobody noted it.
	Made *Made `json:"made,omitempty"`
	// Interrupted says that the command ended before it had played all of its
	// runs, and Pending are the histories of the runs that are not here. A part
	// of such a history may exist.
	Interrupted bool     `json:"interrupted,omitempty"`
	Pending     []string `json:"pending,omitempty"`
	// Gone names the accepted violations that no run shows.
	Gone    []string `json:"gone,omitempty"`
	Runs    []Run    `json:"runs"`
	Skipped []Skip   `json:"skipped,omitempty"`
	Summary Summary  `json:"summary"`
}

// Made is where results come from.
type Made struct {
	Date  string `json:"date,omitempty"`  // when the command began, in UTC: 2026-01-02T15:04:05Z
	Build string `json:"build,omitempty"` // the module version of the program, which names the commit
	Go    string `json:"go,omitempty"`    // the Go version that built it
	Host  string `json:"host,omitempty"`  // operating system, architecture and cores
}

// Run is one scenario played once against one lock.
type Run struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	World    string `json:"world"`
	Seed     uint64 `json:"seed"`
	// User is "careful" for a run of a lock with a careful user, which the
	// scenario does not ask for; empty for the user of the scenario.
	User string `json:"user,omitempty"`
	// Backend is what the servers of a run in the live world were: "redis"
	// (redis-server or valkey-server), "miniredis", "own" for servers that
	// the user runs, or "foreign" for those that a lock brings along.
	Backend string `json:"backend,omitempty"`
	// TimeScale is how long a second of the scenario lasted, in seconds, in a
	// run that was played faster or slower than it is written. 0 means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Attempts is how often the run was played because the machine had been
	// too slow the times before. 0 and 1 mean once.
	Attempts int `json:"attempts,omitempty"`
	// LockVersion is that of a lock that is not built in, as it says itself, and
	// Adapters are the commands of the processes that have it.
	LockVersion string   `json:"lock_version,omitempty"`
	Adapters    []string `json:"adapters,omitempty"`
	// Test is the command that plays a run again that a go test has played.
	Test string `json:"test,omitempty"`
	// File is where the scenario was read from; empty for a built-in one.
	File string `json:"file,omitempty"`

	// Verdicts has an entry for every property that the lock claims.
	Verdicts map[checker.Property]checker.Verdict `json:"verdicts"`
	// Expected has the outcome that the scenario argues for, for every
	// property of Verdicts, ExpectedClass the class where it names one, and
	// Because the argument where one is given.
	Expected      map[checker.Property]checker.Outcome `json:"expected"`
	ExpectedClass map[checker.Property]string          `json:"expected_class,omitempty"`
	Because       map[checker.Property]string          `json:"because,omitempty"`
	// Accepted has the reason why a violation that nobody expects is accepted.
	Accepted map[checker.Property]string `json:"accepted,omitempty"`
	// AsExpected says that every verdict is the expected one, or accepted.
	AsExpected bool `json:"as_expected"`
	// Failure says why the run could not be judged at all: the lock under
	// test panicked the process, spun without end, the history is invalid, or
	// the servers could not be set up. The first line is the reason; what
	// follows explains it: a stack, or the end of a server's log.
	Failure string `json:"failure,omitempty"`

	Stats         Stats  `json:"stats"`
	History       string `json:"history,omitempty"` // path relative to the run directory
	HistorySHA256 string `json:"history_sha256,omitempty"`
}

// Stats are the sizes of a run.
type Stats struct {
	Ops       int     `json:"ops"`
	VirtualMS float64 `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`
	Commands  int     `json:"commands"` // Redis commands that servers executed
}

// Skip is a scenario that does not apply to a lock, and why. The reason begins
// with "not run: " when it does apply, and could not be played in this world or
// on this machine.
type Skip struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	User     string `json:"user,omitempty"` // that of the runs that are missing, as in [Run]
	Reason   string `json:"reason"`
}

// Summary counts runs.
type Summary struct {
	Runs       int `json:"runs"`
	AsExpected int `json:"as_expected"`
	Unexpected int `json:"unexpected"`
	Unknown    int `json:"unknown"`
}
