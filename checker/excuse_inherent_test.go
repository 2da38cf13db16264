package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// inherentTest has a witness, in which a lock that does its best shows a violation. It has
// a counter-witness, too: another lock shows much the same there, and could have avoided it.
type inherentTest struct {
	line             string
	property         Property
	right            history.Header
	witness, because string // inherent
	wrong            history.Header
	counter          string // the lock's fault
}

// testInherent checks that the lock of each witness has an excuse, and that of the
// counter-witness none.
func testInherent(t *testing.T, tests []inherentTest) {
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			wantExcused(t, verdictOn(t, tt.property, tt.right, tt.witness), tt.because, verdictOn(t, tt.property, tt.wrong, tt.counter))
		})
	}
}

// wantExcused checks the verdicts of a witness, whose reason may be "ok", and of its
// counter-witness.
func wantExcused(t *testing.T, witness Verdict, because string, counter Verdict) {
	t.Helper()
	switch {
	case because == "ok":
		if witness.Outcome != OutcomeOK {
			t.Errorf("witness: got %+v, want ok", witness)
		}
	case witness.Outcome != Violated || !strings.Contains(witness.Inherent, because):
		t.Errorf("witness: got %+v, want it to be inherent because %q", witness, because)
	}
	if !counter.Faulty() {
		t.Errorf("counter-witness: got %+v, want a violation that is the lock's fault", counter)
	}
}

func verdictOn(t *testing.T, p Property, h history.Header, text string) Verdict {
	t.Helper()
	r, err := Judge(story(t, h, text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdicts[p]
}

// Headers and parts of histories that several tables have.

var plain = leased(nil)

var telling = leased(func(h *history.Header) {
	h.Claims.Renewal, h.Claims.LostSign, h.Claims.RenewEvery = true, true, 333*millisecond
})

var careful = leased(func(h *history.Header) { h.User = history.Careful })

var quorum = leased(func(h *history.Header) { h.Claims.Quorum, h.Claims.Nodes = 2, 3 })

var quorumTotal = leased(func(h *history.Header) { h.Claims.Quorum, h.Claims.Nodes, h.Order = 2, 3, history.TotalOrder })

var fair = leased(func(h *history.Header) { h.Claims.Fairness = true })

var drifting = leased(func(h *history.Header) { h.Claims.Drift = &history.Drift{Rate: 0.5} })

const take = `
	0    c1 takes lease=1000
	`

const takenAgain = take + `
	10   c1 acquire lease=1000
	11   server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
	12   c1 ok count=2
	`

const takeRenewed = `
	0    c1 takes lease=1000 renewed
	`

const takenByOther = `
	200  c2 takes lease=1000
	`

const bothDone = `
	300  c1 release
	301  c1 fail err=lost
	310  c2 gives`

const onThree = `
	0    c1 acquire lease=1000
	1    server n1 SET by=c1 holder=c1 ttl=1000
	1    server n2 SET by=c1 holder=c1 ttl=1000
	2    c1 ok count=1
	`

const onReplica = "13 server n1r1 cause=replication holder=c1 count=2 ttl=997 role=replica\n"

const emptied = "100 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n110 server n1 cause=restart\n"

const givesBackThere = "130 fault start 2 failover n1\n200 c1 release\n201 server n1r1 EVAL by=c1 holder=c1 count=1 ttl=809 role=primary\n202 c1 ok count=1\n203 c1 release\n204 c1 fail err=lost\n"
