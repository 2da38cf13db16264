package play_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// playWorkload plays a workload in peace, or under faults, and returns a valid
// history.
func playWorkload(t *testing.T, l *locks.Lock, workload, faults string) *history.History {
	t.Helper()
	s, err := scenarios.Parse("words.yaml", []byte(`
scenario: words
title: The words of a workload
story: The words of a workload.
topology: {clients: 2}
workload: {lease: 10s, wait: 60s, think: 20ms, stagger: 10ms, `+workload+`}
otherwise: Nothing is wrong.
`+faults))
	must.Succeed(t, err)
	p, err := play.Simulate(s, l, 1, "test")
	must.Succeed(t, err)
	must.Succeed(t, p.History.Validate())
	again, err := play.Simulate(s, l, 1, "test")
	must.Succeed(t, err)
	if again.History.Hash() != p.History.Hash() {
		t.Error("the same seed gave another history")
	}
	return p.History
}

// Owners of one client must have operations open at once: a lock that mixes them up
// shows it only then.
func TestOwnersWorkConcurrently(t *testing.T) {
	h := playWorkload(t, locks.MustFind("reentrant"), "holds: 2, owners: 3", "")
	open, most := map[string]int{}, 0
	owners := map[string]bool{}
	for _, e := range h.Events {
		switch {
		case e.Op == 0:
		case e.Kind == history.Invoke:
			open[e.Client]++
			owners[e.Owner] = true
			most = max(most, open[e.Client])
		default:
			open[e.Client]--
		}
	}
	if len(owners) != 6 || most < 2 {
		t.Errorf("%d owners, and at most %d operations of a client open at once", len(owners), most)
	}
}

// unnamed is a lock that does not say what it stores for an owner.
type unnamed struct{ leasedSession }

func (unnamed) Identity(string) string { return "" }

// The recorder must find the owner of a stored value, also where several owners of a
// process may have stored it. The judges of the server log need the holder.
func TestOwnersOfUntoldIdentities(t *testing.T) {
	d := locks.Description{Name: "unnamed", Claims: history.Claims{Waits: true, Lease: true}}
	l, err := locks.NewThirdParty(d, func(e locks.Environment) (locks.Session, error) {
		return unnamed{leasedSession{Environment: e}}, nil
	})
	must.Succeed(t, err)
	h := playWorkload(t, l, "holds: 2, owners: 2", "")
	holder, grants := "", 0
	for _, e := range h.Events {
		switch {
		case e.Server != nil:
			holder = e.Server.Holder
		case e.Kind == history.OK && e.F == history.Acquire:
			grants++
			if holder != e.Owner {
				t.Errorf("%s is granted, and the server says %q", e.Owner, holder)
			}
		}
	}
	if grants != 8 {
		t.Errorf("%d grants", grants)
	}
}

// Locks are used in turn, each with ground truth and a stock of its own, whatever
// their names are.
func TestLocksInTurn(t *testing.T) {
	names := []string{"a:b", "with space", "{brace}", "ünïcode", strings.Repeat("n", 512)}
	quoted := `"` + strings.Join(names, `", "`) + `"`
	h := playWorkload(t, locks.MustFind("reentrant"), "holds: 5, locks: ["+quoted+"]", "")
	grants, seen := map[string]int{}, map[string]bool{}
	for _, e := range h.Events {
		switch {
		case e.Server != nil:
			seen[e.Lock] = true
			if e.Server.Key != e.Lock {
				t.Errorf("key %q is of lock %q", e.Server.Key, e.Lock)
			}
		case e.Kind == history.OK && e.F == history.Acquire:
			grants[e.Lock]++
		case e.Kind == history.OK && e.F == history.Read && e.Result.Value < 998:
			t.Errorf("the stock of %q is %d after at most two writes", e.Lock, e.Result.Value)
		}
	}
	for _, name := range names {
		if grants[name] != 2 || !seen[name] {
			t.Errorf("lock %q: %d grants, on the server %t", name, grants[name], seen[name])
		}
	}
}

// An owner has a critical section of the second lock within that of the first. It hears of
// the loss of either meanwhile.
func TestLocksTogether(t *testing.T) {
	const whole = "acquire a, read a, acquire b, read b, write b, release b, write a, release a"
	for _, c := range []struct{ name, more, faults, want string }{
		{"in peace", "", "", whole},
		{"a release of unknown outcome inside", ", retry_release: true", `
faults:
  - {fault: partition, target: client-1, on: {moment: executed, client: client-1, op: release, changed: true}, for: 8s}
`, strings.Replace(whole, "release b", "release b, release b", 1)},
		{"both are lost", "", `
override: {client-1: {think: 15s}}
faults:
  - {fault: partition, target: client-1, on: {moment: granted, client: client-1, nth: 2}, for: 60s}
`, "acquire a, read a, acquire b, read b, lost a, lost b, release b, release a"},
		{"it dies inside", "", `
faults:
  - {fault: crash, target: client-1, on: {moment: granted, client: client-1, nth: 2}}
`, "acquire a, read a, acquire b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := playWorkload(t, locks.MustFind("reentrant"), "holds: 1, locks: [a, b], together: true"+c.more, c.faults)
			var did []string
			for _, e := range h.Events {
				if e.Owner == "client-1/1" && (e.Kind == history.Invoke || e.Kind == history.Note) {
					did = append(did, string(e.F)+" "+e.Lock)
				}
			}
			if got := strings.Join(did, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A lock that cannot have a name is left out, and says why.
func TestAwkwardNameIsRefused(t *testing.T) {
	s, err := scenarios.Parse("brace.yaml", []byte(`
scenario: brace
title: A brace that is no hash tag
story: A brace that is no hash tag.
topology: {clients: 1}
workload: {holds: 1, lease: 10s, locks: [stock, "a{b"]}
otherwise: Nothing is wrong.
`))
	must.Succeed(t, err)
	if ok, reason := s.Applies(locks.MustFind("reentrant")); ok || !strings.Contains(reason, "a{b") {
		t.Errorf("played: %t, %q", ok, reason)
	}
	if ok, reason := s.Applies(locks.MustFind("set-px-lua")); !ok {
		t.Errorf("set-px-lua takes any name: %s", reason)
	}
}

// A herd takes the lock again at the instant of its release.
func TestHerdDoesNotRest(t *testing.T) {
	h := playWorkload(t, locks.MustFind("reentrant"), "holds: 3, herd: true", "")
	released := map[string]int64{}
	again := 0
	for _, e := range h.Events {
		switch {
		case e.F == history.Release && e.Kind == history.OK:
			released[e.Owner] = e.Time
		case e.F == history.Acquire && e.Kind == history.Invoke && released[e.Owner] > 0:
			again++
			if e.Time != released[e.Owner] {
				t.Errorf("%s rests for %v", e.Owner, time.Duration(e.Time-released[e.Owner]))
			}
		}
	}
	if again != 4 {
		t.Errorf("%d holds follow another, want 4", again)
	}
}

const cutAtRelease = `
faults:
  - {fault: partition, target: client-1, on: {moment: executed, client: client-1, op: release, changed: true}, for: 30s}
`

// The owner repeats a release of unknown outcome where the workload says so, and only
// there.
func TestReleaseIsAskedForAgain(t *testing.T) {
	for workload, want := range map[string][]history.Kind{
		"holds: 1":                      {history.Info},
		"holds: 1, retry_release: true": {history.Info, history.Fail},
	} {
		h := playWorkload(t, locks.MustFind("reentrant"), workload, cutAtRelease)
		var got []history.Kind
		for _, e := range h.Events {
			if e.Client == "client-1" && e.F == history.Release && e.Kind != history.Invoke {
				got = append(got, e.Kind)
			}
		}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: releases end as %v, want %v", workload, got, want)
		}
	}
}

// A wait can be cut between the grant on the server and its reply: the moment at
// which an acquire leaves an orphan behind.
func TestWaitIsCutWhenExecuted(t *testing.T) {
	h := playWorkload(t, locks.MustFind("reentrant"), "holds: 1", `
faults:
  - {fault: cancel, target: client-2, on: {moment: executed, client: client-2, op: acquire, changed: true}}
`)
	stored := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Server != nil && e.Server.Holder == "client-2/1" })
	cut := slices.IndexFunc(h.Events, func(e history.Event) bool {
		return e.Client == "client-2" && e.F == history.Acquire && (e.Kind == history.Fail || e.Kind == history.Info)
	})
	if stored < 0 || cut < stored {
		t.Errorf("the server grants in event %d, and the acquire ends in event %d", stored, cut)
	}
}
