package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// A hold that lives in a session ends with its process and its connection, and soon. A
// lock without a lease could not be asked for that.
func TestSessions(t *testing.T) {
	session := leased(func(h *history.Header) {
		h.Claims.Lease, h.Claims.Reentrant, h.Claims.Session, h.Unwatched = false, false, 1000*millisecond, true
	})
	const take = `
		0    c1 acquire; 2 ok count=1
		`
	const crash = take + `
		500  fault start 1 crash c1
		500  c1 crash
		`
	const taken = `
		600  c2 acquire wait=9000; 700 ok count=1
		800  c2 release; 801 ok`
	const reset = take + `
		500  fault start 1 reset c1 n1
		` + taken
	run(t, []propertyTest{
		{"its process died", session, crash + taken, Linearizable, OutcomeOK, "", "", ""},
		{"nothing happened to it", session, take + taken, Linearizable, Violated, "", "was not seen to let go", ""},
		{"is not ended in time", session, crash + `
			600  c2 acquire wait=9000; 9600 fail err=busy`, Progress, Violated, "", "a session ends within 1.000 s", ""},
		{"its connection broke", session, reset, Linearizable, OutcomeOK, "", "", ""},
	})
	for _, tt := range []struct {
		what, story string
		property    Property
		inherent    bool
	}{
		{"a hold that nobody ends", crash + "600 c2 acquire wait=9000\n9600 c2 fail err=busy", Progress, false},
		{"one whose end no server could hear of", take + `
			400  fault start 1 partition c1
			500  fault start 2 crash c1
			500  c1 crash
			600  c2 acquire wait=9000
			9000 fault end 1 partition c1
			9600 c2 fail err=busy`, Progress, true},
		{"two holders, as a connection broke", reset, Exclusion, true},
		{"two holders for no reason", take + taken, Exclusion, false},
	} {
		h := story(t, session, tt.story)
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := r.Verdicts[tt.property]
		if v.Outcome != Violated || (v.Inherent != "") != tt.inherent {
			t.Errorf("%s: %+v", tt.what, v)
		}
	}
}
