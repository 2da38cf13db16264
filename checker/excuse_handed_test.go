package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// A server that took the place of another one hands the lock to owners that have had their
// turn, or have left. It never heard of that. A server that nothing replaced did.
func TestHandedByAPromotedServer(t *testing.T) {
	fair := leased(func(h *history.Header) {
		h.Claims.Fairness, h.Claims.TakesBack = true, true
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "failover", Traits: history.Traits{Instant: true, Promotes: true, Forks: true, LosesWrites: true}}}
	})
	const failover = "150 fault start 1 failover n1\n160 fault end 1 failover n1\n"
	const granted = `
		0   c1.1 takes lease=1000
		3   server n1r1 cause=replication holder=c1.1 ttl=997
		5   c1.2 acquire lease=4000 wait=5000
		10  c1.3 acquire lease=4000 wait=5000
		20  c2 acquire lease=4000 wait=5000
		100 c1.1 release
		101 server n1 EVAL by=c1 holder=c1.2 ttl=600
		102 c1.1 ok
		102 server n1 EVAL by=c1 holder=c1.2 ttl=4000
		103 c1.2 ok count=1
		`
	const handedOnce = failover + `
		1000 server n1r1 cause=expiry role=primary
		1001 server n1r1 EVAL by=c1 holder=c1.2 ttl=600 role=primary
		1601 server n1r1 cause=expiry role=primary
		1602 server n1r1 EVAL by=c2 holder=c2 ttl=4000 role=primary
		1603 c2 ok count=1
		1700 c1.2 release
		1701 c1.2 fail err=lost
		1800 c2 release
		1801 server n1r1 EVAL by=c2 role=primary
		1802 c2 ok
		5010 c1.3 fail err=busy`
	const left = `
		0   c1 takes lease=1000
		3   server n1r1 cause=replication holder=c1 ttl=997
		20  c2.1 acquire lease=4000 wait=100
		21  c2.2 acquire lease=4000 wait=5000
		120 c2.1 fail err=busy
		`
	const handedToWhoLeft = `
		300  c1 release
		301  server n1r1 EVAL by=c1 holder=c2.1 ttl=2000 role=primary
		302  c1 ok
		2301 server n1r1 cause=expiry role=primary
		2302 server n1r1 EVAL by=c2 holder=c2.2 ttl=4000 role=primary
		2303 c2.2 ok count=1
		2400 c2.2 release
		2401 server n1r1 EVAL by=c2 role=primary
		2402 c2.2 ok`
	const apart = `
		0    c3 takes lease=5000
		3    server n1r1 cause=replication holder=c3 ttl=4997
		5    c1.1 acquire lease=5000 wait=9000
		10   c1.2 acquire lease=5000 wait=9000
		100  fault start 1 failover n1
		5000 server n1r1 cause=expiry role=primary
		5001 server n1 cause=expiry
		5002 server n1r1 EVAL by=c1 holder=c1.2 ttl=3000 role=primary
		`
	const renewsElsewhere = `
		5005 c1.2 ok count=1
		8002 server n1r1 cause=expiry role=primary
		8900 c1.2 release
		8901 server n1 EVAL by=c1
		8902 c1.2 ok
		9010 c1.1 fail err=busy`
	const turn = `
		0   c1 takes lease=5000
		3   server n1r1 cause=replication holder=c1 ttl=4997
		20  c2 acquire lease=1000 wait=5000
		100 c1 release
		101 server n1 EVAL by=c1 holder=c2 ttl=1000
		102 c1 ok
		103 c2 ok count=1
		`
	const again = `
		200  c2 release
		201  c2 fail err=lost
		4000 c1 acquire lease=1000 wait=5000
		4600 c2 acquire lease=1000 wait=5000
		5000 server n1r1 cause=expiry role=primary
		5001 server n1r1 EVAL by=c2 holder=c2 ttl=1000 role=primary
		5002 c2 ok count=1
		5100 c2 release
		5101 server n1r1 EVAL by=c2 holder=c1 ttl=1000 role=primary
		5102 c2 ok
		5103 c1 ok count=1
		5200 c1 release
		5201 server n1r1 EVAL by=c1 role=primary
		5202 c1 ok`
	onOne := strings.NewReplacer("n1r1", "n1", " role=primary", "", failover, "").Replace
	for _, tt := range []struct {
		line             string
		property         Property
		witness, because string
		counter          string
	}{
		{"its own hold once more, by the client that has it", Exclusion, granted + handedOnce, "did not have the hold when it was asked",
			granted + onOne(handedOnce)},
		{"after it had left", Progress, left + failover + handedToWhoLeft, "ok",
			strings.Replace(left, "3   server n1r1 cause=replication holder=c1 ttl=997\n", "", 1) + onOne(handedToWhoLeft)},
		{"while the other of two servers granted it", Lease, apart + "5003 server n1 EVAL by=c1 holder=c1.2 ttl=5000\n" + renewsElsewhere, "ok",
			strings.NewReplacer("100  fault start 1 failover n1\n", "", "5000 server n1r1 cause=expiry role=primary\n", "", "n1r1 EVAL", "n1 EVAL").Replace(apart) +
				strings.NewReplacer("n1r1", "n1", "8901 server n1 EVAL by=c1\n", "").Replace(renewsElsewhere)},
		{"in the place of its last turn", Fairness, turn + failover + again, "never heard that client-2/1 had had its turn",
			turn + onOne(strings.Replace(again, "c2 fail err=lost", "server n1 EVAL by=c2\n202 c2 ok", 1))},
	} {
		t.Run(tt.line, func(t *testing.T) {
			wantExcused(t, verdictOn(t, tt.property, fair, tt.witness), tt.because, verdictOn(t, tt.property, fair, tt.counter))
		})
	}
}

// A hold that was handed to a waiter, and ended before it came, is not the one that it got
// later. So the other holder was first.
func TestTheGrantIsTheLastOne(t *testing.T) {
	fair := leased(func(h *history.Header) { h.Claims.Fairness = true })
	const before = `
		0    c1 takes lease=1000
		3    server n1r1 cause=replication holder=c1 ttl=997
		5    c2 acquire lease=4000 wait=9000
		10   c3 acquire lease=4000 wait=9000
		100  fault start 1 failover n1
		900  c1 stopped
		1001 server n1 cause=expiry
		1002 server n1r1 cause=expiry role=primary
		1003 server n1 EVAL by=c2 holder=c2 ttl=500
		1503 server n1 cause=expiry
		`
	for where, after := range map[string]string{
		"on the same server": `
		4500 server n1r1 EVAL by=c3 holder=c3 ttl=4000 role=primary
		4501 c3 ok count=1
		4600 server n1 EVAL by=c2 holder=c2 ttl=4000
		4601 c2 ok count=1
		4700 c2 release
		4701 server n1 EVAL by=c2
		4702 c2 ok
		4800 c3 release
		4801 server n1r1 EVAL by=c3 role=primary
		4802 c3 ok`,
		"on the other server": `
		1600 server n1 EVAL by=c3 holder=c3 ttl=4000
		1601 c3 ok count=1
		1700 server n1r1 EVAL by=c2 holder=c2 ttl=4000 role=primary
		1701 c2 ok count=1
		1800 c2 release
		1801 server n1r1 EVAL by=c2 role=primary
		1802 c2 ok
		1900 c3 release
		1901 server n1 EVAL by=c3
		1902 c3 ok`,
	} {
		v := verdictOn(t, Exclusion, fair, before+after)
		if v.Class != ContractBroken || v.Inherent == "" || !strings.HasPrefix(v.Reason, "client-2/1 was granted") {
			t.Errorf("%s: got %+v, want client-2/1 to come second, and the failover to be the cause", where, v)
		}
	}
}

// A fault keeps a request back until its client is gone. No other client takes back what the
// server then grants, or a place in a queue that gets the lock. A client that is there does.
func TestTheClientIsGone(t *testing.T) {
	alone := leased(func(h *history.Header) { h.Claims.TakesBack = true })
	fair := leased(func(h *history.Header) { h.Claims.Fairness, h.Claims.TakesBack = true, true })
	const before = `
		0    c1 takes lease=1000
		10   fault start 1 hold-request c1 n1
		20   c1 closed
		1001 server n1 cause=expiry
		2000 fault end 1 hold-request c1 n1
		`
	const granted = before + "2001 server n1 EVAL by=c1 holder=c1 ttl=1000\n"
	const handed = before + `
		2010 c3 takes lease=1000
		2050 c3 release
		2051 server n1 EVAL by=c3 holder=c1 ttl=600
		2052 c3 ok
		`
	const refused = `
		2100 c2 acquire lease=1000 wait=0
		2102 c2 fail err=busy
		3900 server n1 cause=expiry
		4000 c2 takes lease=1000`
	for line, tt := range map[string]struct {
		lock    history.Header
		witness string
	}{"the lock is busy": {alone, granted + refused}, "the lock was handed to its place": {fair, handed + refused}} {
		counter := strings.Replace(tt.witness, "20   c1 closed", "", 1)
		t.Run(line, func(t *testing.T) {
			wantExcused(t, verdictOn(t, Linearizable, tt.lock, tt.witness), "client-1 was gone since 0.020 s", verdictOn(t, Linearizable, tt.lock, counter))
		})
	}
}
