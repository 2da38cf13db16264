package scenarios_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func TestCatalogueIsWhole(t *testing.T) {
	names := scenarios.Names()
	var loaded []string
	for _, s := range scenarios.Catalogue() {
		loaded = append(loaded, s.Name)
	}
	if !slices.Equal(names, loaded) {
		t.Errorf("scenarios are %v, their names %v", loaded, names)
	}
	files, err := fs.Glob(os.DirFS("catalogue"), "*")
	must.Succeed(t, err)
	if len(files) != len(names) {
		t.Errorf("%d files for %d scenarios", len(files), len(names))
	}
	for _, f := range files {
		if !slices.Contains(names, strings.TrimSuffix(f, ".yaml")) {
			t.Errorf("%s is in no list", f)
		}
	}
}

// A run is to be small: a reader follows it, and a judge decides it.
func TestCatalogueIsSmall(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		ops := 0
		for i := range s.Topology.Clients {
			holds := s.Workload.Holds
			if o := s.Override[clientName(i)]; o.Holds != nil {
				holds = *o.Holds
			}
			ops += holds * s.Workload.AtOnce() * (4 + 2*len(s.Workload.Nested))
		}
		large := s.Name == "sixty-four-waiters" // it is about many
		if !large && (ops > 150 || s.Topology.Clients > 5) {
			t.Errorf("%s: %d clients, %d operations", s.Name, s.Topology.Clients, ops)
		}
		if s.Workload.Lease < 2e9 {
			t.Errorf("%s: a lease of %v is too short to reason about", s.Name, time.Duration(s.Workload.Lease))
		}
	}
}

func clientName(i int) string { return "client-" + string(rune('1'+i)) }

// Every lock that a scenario names is one it is played with, so that no
// expectation is dead.
func TestCatalogueExpectsNothingInVain(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		played := 0
		for _, lock := range locks.Names() {
			if ok, reason := s.Applies(locks.MustFind(lock)); ok {
				played++
			} else if reason == "" {
				t.Errorf("%s leaves out %s without a reason", s.Name, lock)
			}
		}
		if played == 0 {
			t.Errorf("%s is played with no lock", s.Name)
		}
		for _, e := range s.Expect {
			for _, lock := range e.Locks {
				if ok, reason := s.Applies(locks.MustFind(lock)); !ok {
					t.Errorf("%s expects something of %s: %s", s.Name, lock, reason)
				}
			}
		}
	}
}

func TestExpected(t *testing.T) {
	s, err := scenarios.Find("holder-pause")
	must.Succeed(t, err)
	for _, tt := range []struct {
		lock     string
		property checker.Property
		outcome  checker.Outcome
		class    string
	}{
		{"set-px", checker.Exclusion, checker.Violated, checker.LeaseOutlived},
		{"set-px", checker.ResourceSafe, checker.Violated, ""},
		{"set-px", checker.Errors, checker.Violated, ""},
		{"set-px-lua", checker.Errors, checker.OutcomeOK, ""},
		{"fenced", checker.Exclusion, checker.Violated, checker.LeaseOutlived},
		{"fenced", checker.ResourceSafe, checker.OutcomeOK, ""},
		{"setnx", checker.Exclusion, checker.OutcomeOK, ""},
	} {
		all := s.Expected(locks.MustFind(tt.lock))
		if len(all) != len(checker.Properties()) {
			t.Errorf("%s: %d expectations, want one for each property", tt.lock, len(all))
		}
		got := all[tt.property]
		if got.Outcome != tt.outcome || got.Class != tt.class || got.Because == "" {
			t.Errorf("%s, %s: got %+v, want %s %q with a reason", tt.lock, tt.property, got, tt.outcome, tt.class)
		}
	}
}

// The catalogue must show these violations, whatever else changes.
func TestCatalogueShowsWhatItIsKnownFor(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		property checker.Property
		violated []string // the locks, and no other that it is played with
	}{
		{"contention", checker.Exclusion, nil},
		{"holder-crash", checker.Progress, []string{"setnx", "semaphore-list"}},
		{"late-release", checker.Ownership, []string{"setnx-expire", "set-px"}},
		{"failover-lost-write", checker.Exclusion, []string{"setnx", "setnx-expire", "set-px", "set-px-check", "set-px-watch", "set-px-lua", "set-px-renew", "reentrant", "fenced", "fair", "semaphore-zset", "read-write", "semaphore-counter", "getset", "semaphore-clock", "no-script", "semaphore-list"}},
		{"failover-one-acked-of-two", checker.Exclusion, []string{"setnx", "setnx-expire", "set-px", "set-px-check", "set-px-watch", "set-px-lua", "set-px-renew", "reentrant", "reentrant-wait", "fenced", "fair", "semaphore-zset", "read-write", "semaphore-counter", "getset", "semaphore-clock", "no-script", "semaphore-list"}},
		{"holder-pause", checker.Exclusion, []string{"setnx-expire", "set-px", "set-px-check", "set-px-watch", "set-px-lua", "set-px-renew", "reentrant", "reentrant-wait", "multi", "redlock", "fenced", "fair", "semaphore-zset", "read-write", "semaphore-counter", "getset", "semaphore-clock", "no-script", "semaphore-quorum"}},
		{"fence-rollback", checker.Fencing, nil},
		{"fence-rollback-clock-behind", checker.Fencing, []string{"fenced", "fair"}},
		{"redlock-clock-jump", checker.Exclusion, []string{"redlock"}},
		{"redlock-node-restart", checker.Exclusion, []string{"redlock"}},
		{"redlock-node-restart-delayed", checker.Exclusion, nil},
	} {
		s, err := scenarios.Find(tt.scenario)
		must.Succeed(t, err)
		var got []string
		for _, lock := range locks.Names() {
			if ok, _ := s.Applies(locks.MustFind(lock)); ok && s.Expected(locks.MustFind(lock))[tt.property].Outcome == checker.Violated {
				got = append(got, lock)
			}
		}
		if !slices.Equal(got, tt.violated) {
			t.Errorf("%s: %s is violated by %v, want %v", tt.scenario, tt.property, got, tt.violated)
		}
	}
}

func TestAppliesAsksTheFaults(t *testing.T) {
	src := strings.Replace(spoiled(t, "peer: node-1", "peer: node-2"), "only: [reentrant, fenced, multi]\nexcept:\n  multi: not today\nexpect:\n  - locks: [reentrant]", "only: [reentrant, multi]\nexpect:\n  - locks: [multi]", 1)
	s, err := scenarios.Parse("mine.yaml", []byte(src))
	must.Succeed(t, err)
	if ok, reason := s.Applies(locks.MustFind("multi")); !ok {
		t.Errorf("multi, which has node-2: %s", reason)
	}
	if ok, reason := s.Applies(locks.MustFind("reentrant")); ok || !strings.Contains(reason, "node-2") {
		t.Errorf("reentrant, which has no node-2: %t, %q", ok, reason)
	}
}

func TestFind(t *testing.T) {
	if s, err := scenarios.Find("key-deleted"); err != nil || s.Name != "key-deleted" {
		t.Errorf("got %v, %v", s, err)
	}
	for name, hint := range map[string]string{
		"holder-puase":   "did you mean holder-pause?",
		"failover":       "did you mean leader-failover, failover-lost-write or failover-one-acked-of-two?",
		"quite-another":  "holdfast list scenarios",
		"":               "holdfast list scenarios",
		"../go.mod":      "holdfast list scenarios",
		"Redlock-Clock-": "did you mean redlock-clock-jump",
	} {
		_, err := scenarios.Find(name)
		var unknown *scenarios.UnknownScenarioError
		if !errors.As(err, &unknown) || !strings.HasPrefix(unknown.Hint(), hint) {
			t.Errorf("Find(%q): %v %+v, want the hint %q", name, err, unknown, hint)
		}
		if _, err := scenarios.Source(name); !errors.As(err, &unknown) {
			t.Errorf("Source(%q): %v", name, err)
		}
	}
}

func TestNearest(t *testing.T) {
	from := []string{"progress", "exclusion", "errors", "lease", "release", "ok"}
	for word, want := range map[string]string{
		"progress":  "progress",
		"progres":   "progress",
		"porgress":  "progress",
		"EXCLUSION": "exclusion",
		"leese":     "lease",
		"zzz":       "",
		"":          "",
	} {
		got := ""
		if near := scenarios.Nearest(word, from); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("Nearest(%q) begins with %q, want %q", word, got, want)
		}
	}
}

// A report shows the argument of a scenario to its readers.
func TestEveryScenarioArgues(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		if strings.Contains(s.Otherwise, "TODO") || len(strings.Fields(s.Otherwise)) < 5 {
			t.Errorf("%s argues %q for what it does not expect", s.Name, s.Otherwise)
		}
	}
}

// A lock may never send the command for which a fault waits, or get no message. Then the
// scenario does not apply to it.
func TestAboutCommands(t *testing.T) {
	for name, want := range map[string]bool{"check-then-delete": true, "broken-subscribe": true, "cut-off-waiters": true, "holder-pause": false, "crash-between-commands": false} {
		s, err := scenarios.Find(name)
		must.Succeed(t, err)
		if got := s.AboutCommands(); got != want {
			t.Errorf("%s waits for a command or a message: %t", name, got)
		}
	}
}
