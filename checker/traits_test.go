package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// traitsOf are the traits of the faults that strike in tests: what package
// faults says of them, which imports this one.
var traitsOf = map[string]history.Traits{
	"cancel":          {Instant: true, Cancels: true},
	"clock-drift":     {Lasts: true, MovesClock: true},
	"clock-jump":      {Instant: true, MovesClock: true},
	"crash":           {Instant: true, EndsProcess: true},
	"cut-replication": {Lasts: true, HoldsReplication: true, Cuts: true},
	"delay":           {Lasts: true, HoldsRequests: true, HoldsReplies: true, Reorders: true},
	"delete-key":      {Instant: true, DeletesKeys: true},
	"deny":            {Lasts: true, RefusesGrants: true},
	"drop-message":    {Lasts: true, LosesNotices: true},
	"failover":        {Instant: true, Promotes: true, Forks: true, LosesWrites: true, ForgetsScripts: true, StopsNode: true, Refuses: true},
	"hold-request":    {Lasts: true, HoldsRequests: true, Cuts: true, Reorders: true},
	"refuse":          {Lasts: true, Refuses: true},
	"half-open":       {Lasts: true, LosesReplies: true, LosesNotices: true, BreaksConnections: true, Reorders: true},
	"hold-reply":      {Lasts: true, LosesReplies: true},
	"move-slots":      {Lasts: true, RefusesGrants: true, LosesNotices: true},
	"node-crash":      {Lasts: true, StopsNode: true, Refuses: true, BreaksConnections: true, ForgetsScripts: true},
	"node-restart":    {Instant: true, StopsNode: true, Refuses: true, BreaksConnections: true, ForgetsScripts: true, LosesWrites: true},
	"partition":       {Lasts: true, HoldsRequests: true, HoldsReplies: true, Cuts: true, Reorders: true},
	"pause":           {Lasts: true, StopsProcess: true},
	"replication-lag": {Lasts: true, HoldsReplication: true},
	"reset":           {Instant: true, BreaksConnections: true},
	"script-flush":    {Instant: true, ForgetsScripts: true},
	"slow-subscribe":  {Lasts: true, HoldsSubscriptions: true},
}

// planned gives the faults of a history their traits, and lists those in its
// header that struck.
func planned(h *history.History) {
	listed := map[int]bool{}
	faults := append([]history.PlannedFault(nil), h.Header.Faults...)
	for _, f := range faults {
		listed[f.ID] = true
	}
	for _, e := range h.Events {
		if e.Kind == history.Fault && e.Fault.Phase == history.PhaseStart && !listed[e.Fault.ID] {
			listed[e.Fault.ID] = true
			faults = append(faults, history.PlannedFault{ID: e.Fault.ID, Fault: e.Fault.Name})
		}
	}
	for i := range faults {
		if faults[i].Traits == (history.Traits{}) {
			faults[i].Traits = traitsOf[faults[i].Fault] // none make it invalid
		}
	}
	h.Header.Faults = faults
}

// A judge cannot know what a fault without traits excuses: it must not guess.
func TestFaultsWithoutTraitsAreInvalid(t *testing.T) {
	for what, traits := range map[string]history.Traits{"none": {}, "both ends": {Instant: true, Lasts: true}} {
		h := story(t, leased(nil), "0 c1 acquire\n1 c1 ok count=1\n2 fault start 1 pause c1")
		h.Header.Faults[0].Traits = traits
		if _, err := Judge(h, Options{}); err == nil {
			t.Errorf("%s: it was judged", what)
		}
	}
	h := story(t, leased(nil), "0 c1 acquire\n1 c1 ok count=1\n2 fault start 1 pause c1")
	h.Header.Faults = nil
	if _, err := Judge(h, Options{}); err == nil {
		t.Error("a history was judged in which a fault strikes that its header does not list")
	}
}

// A crash is over at once: it does not excuse what happens to others long after.
func TestACrashIsNoExcuseForOthersLongAfter(t *testing.T) {
	const crashed = `
		3    fault start 1 crash c3
		3    c3 crash
		`
	const told = `
		9000 c1 takes lease=10000
		9100 c1 lost
		9200 server n1 DEL by=c1
		9300 end`
	for what, text := range map[string]string{"no fault": told, "a crash": crashed + told} {
		h := story(t, leased(func(h *history.Header) { h.Claims.LostSign = true }), text)
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[Errors]; !strings.Contains(v.Reason, "its hold at 9.100 s") {
			t.Errorf("%s: errors: %+v", what, v)
		}
	}
}

// A server that refuses what begins or prolongs a hold excuses an acquire of unknown
// outcome. It excuses a release that it may have refused, too, unless the lock promises to
// release without memory.
func TestARefusedCommandIsNoExcuseForAHardenedRelease(t *testing.T) {
	for _, c := range []struct {
		f        string
		hardened bool
		want     Outcome
	}{{"acquire", true, OutcomeOK}, {"release", true, Violated}, {"release", false, OutcomeOK}} {
		h := story(t, leased(func(h *history.Header) { h.Claims.Hardened = c.hardened }), `
			0    c2 takes lease=9000
			10   fault start 1 deny n1
			20   c1 acquire lease=9000; 30 fail err=busy
			100  c2 gives
			200  c3 takes lease=9000
			300  c3 `+c.f+`
			400  c3 info err=unknown
			9300 fault end 1 deny
			9400 end`)
		h.Header.Order = history.TotalOrder
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[Errors]; v.Outcome != c.want {
			t.Errorf("%s, hardened %t: errors: %+v", c.f, c.hardened, v)
		}
	}
}
