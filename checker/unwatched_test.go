package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// A promoted server refuses an owner for a while, and no view shows why. More than a lease
// later, that is the fault of the lock.
func TestUnwatched_refusedAfterAPromotion(t *testing.T) {
	const refused = "0 c1 acquire lease=1000\n1 c1 ok count=1\n2 c1 release\n3 c1 ok\n10 fault start 1 failover n1\n"
	for at, late := range map[string]bool{"100": false, "1100": true} {
		h := story(t, leased(func(h *history.Header) {
			h.Unwatched = true
			h.Faults = []history.PlannedFault{{ID: 1, Fault: "failover", Traits: history.Traits{Instant: true, Promotes: true}}}
		}), refused+at+" c2 acquire lease=1000\n"+at+".5 c2 fail err=busy")
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[Linearizable]; v.Outcome != Violated || v.Faulty() != late {
			t.Errorf("at %s: %+v", at, v)
		}
	}
}

// In a run without a view of the servers, a fact that only servers can show must not be
// called ok. Nor is it unknown for want of looking.
func TestUnwatched(t *testing.T) {
	h := story(t, leased(func(h *history.Header) {
		h.Unwatched, h.Claims.Renewal, h.Claims.RenewEvery = true, true, 300*millisecond
	}), "0 c1 acquire lease=1000\n1 c1 ok count=1\n2 c1 release\n3 c1 ok")
	r, err := Judge(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Property{Ownership, Lease, Renewal} {
		if v, judged := r.Verdicts[p]; judged {
			t.Errorf("%s is judged, %v", p, v)
		}
	}
	if v := r.Verdicts[Exclusion]; v.Outcome != OutcomeOK {
		t.Errorf("exclusion: %v", v)
	}
}
