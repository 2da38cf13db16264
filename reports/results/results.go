// Package results is the document of a run's results, as JSON: every run with its
// verdicts. Package suite writes it, and reports read it.
package results

import "github.com/holdfast-go/holdfast/checker"

// Schema names the format of [Results] as JSON.
const Schema = "holdfast-results/1"

// Results are the outcome of one invocation of holdfast.
type Results struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Command string `json:"command,omitempty"` // the command that repeats the runs
	// Made is the origin; nil if it was not recorded.
	Made *Made `json:"made,omitempty"`
	// Interrupted is true if the command ended before it had played all of its
	// runs. Pending are the histories of the missing runs; a part of such a
	// history may exist.
	Interrupted bool     `json:"interrupted,omitempty"`
	Pending     []string `json:"pending,omitempty"`
	// Gone names the accepted violations that no run shows.
	Gone    []string `json:"gone,omitempty"`
	Runs    []Run    `json:"runs"`
	Skipped []Skip   `json:"skipped,omitempty"`
	Summary Summary  `json:"summary"`
}

// Made is the origin of results.
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
	// User is "careful" for a run with a careful user in place of the
	// scenario's own; otherwise empty.
	User string `json:"user,omitempty"`
	// Server is the server as it is offered, if it is not Redis 7 with all rights.
	Server string `json:"server,omitempty"`
	// Backend is the kind of servers in the live world: "redis" (redis-server
	// or valkey-server), "miniredis", "own" for external servers, or "foreign"
	// for bundled servers.
	Backend string `json:"backend,omitempty"`
	// TimeScale is the length of a second of the scenario, in seconds. 0 means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Attempts is the number of attempts, if the machine was too slow for the
	// first ones. 0 and 1 mean one.
	Attempts int `json:"attempts,omitempty"`
	// LockVersion is the version of a lock that is not built in, and Adapters
	// are the commands of its adapters.
	LockVersion string   `json:"lock_version,omitempty"`
	Adapters    []string `json:"adapters,omitempty"`
	// Test is the command that repeats the run, if a go test has played it.
	Test string `json:"test,omitempty"`
	// File is the file of the scenario; empty for a built-in one.
	File string `json:"file,omitempty"`

	// Verdicts has an entry for every property that the lock claims.
	Verdicts map[checker.Property]checker.Verdict `json:"verdicts"`
	// Expected has the expected outcome for every property of Verdicts. ExpectedClass is
	// the expected class if the scenario names one, and Because the argument if it gives
	// one.
	Expected      map[checker.Property]checker.Outcome `json:"expected"`
	ExpectedClass map[checker.Property]string          `json:"expected_class,omitempty"`
	Because       map[checker.Property]string          `json:"because,omitempty"`
	// Accepted has the reason for which an unexpected violation is accepted.
	Accepted map[checker.Property]string `json:"accepted,omitempty"`
	// AsExpected is true if every verdict is the expected one, or accepted.
	AsExpected bool `json:"as_expected"`
	// Failure is the reason for which there is no verdict. The lock crashed the process
	// or never stopped, the history is invalid, or the servers did not start. The first
	// line is the reason. The next lines hold a stack, or the end of a server's log.
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

// NotRun starts the reason of a [Skip] whose scenario applies to the lock, but
// could not be played in this world or on this machine.
const NotRun = "not run: "

// Skip is a scenario that was not played with a lock, and the reason.
type Skip struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	User     string `json:"user,omitempty"` // the user of the missing runs, as in [Run]
	Reason   string `json:"reason"`
}

// Summary counts runs.
type Summary struct {
	Runs       int `json:"runs"`
	AsExpected int `json:"as_expected"`
	Unexpected int `json:"unexpected"`
	Unknown    int `json:"unknown"`
}
