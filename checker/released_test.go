package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// next is a critical section after everything else.
const next = `
	9000 c2 acquire lease=8000
	9001 server n1 SET by=c2 holder=c2 ttl=8000
	9001 server n2 SET by=c2 holder=c2 ttl=8000
	9001 server n3 SET by=c2 holder=c2 ttl=8000
	9002 c2 ok count=1
	9100 c2 release
	9101 server n1 DEL by=c2
	9101 server n2 DEL by=c2
	9101 server n3 DEL by=c2
	9102 c2 ok`

// A release that reports success has ended the hold where it counts, whatever kept
// its requests away. One of a quorum has done so on so many servers that another
// owner can be granted the lock.
func TestASucceededReleaseHasAnEffect(t *testing.T) {
	down := leased(nil)
	quorum := majorityOf(5)
	giving := leased(func(h *history.Header) {
		h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant, h.Claims.TakesBack = 5, 3, false, true
	})
	every := leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = 3, 3, false })
	const held = `
		0    c1 takes lease=8000
		`
	const onFive = `
		0    c1 acquire lease=8000
		1    server n1 SET by=c1 holder=c1 ttl=8000
		1    server n2 SET by=c1 holder=c1 ttl=8000
		1    server n3 SET by=c1 holder=c1 ttl=8000
		1    server n4 SET by=c1 holder=c1 ttl=8000
		1    server n5 SET by=c1 holder=c1 ttl=8000
		2    c1 ok count=1
		`
	const gone = `
		8001 server n1 cause=expiry
		8001 server n2 cause=expiry
` + next
	const takenAtLast = `
		20100 c2 acquire lease=8000
		20101 server n1 SET by=c2 holder=c2 ttl=8000
		20101 server n2 SET by=c2 holder=c2 ttl=8000
		20101 server n3 SET by=c2 holder=c2 ttl=8000
		20102 c2 ok count=1
		20103 c2 release
		20104 server n1 DEL by=c2
		20104 server n2 DEL by=c2
		20104 server n3 DEL by=c2
		20105 c2 ok`
	lateOnFive := func(when string) string {
		return `
		0    c1 acquire lease=20000
		0    fault start 1 partition c1 n5
		1    server n1 SET by=c1 holder=c1 ttl=20000
		1    server n2 SET by=c1 holder=c1 ttl=20000
		1    server n3 SET by=c1 holder=c1 ttl=20000
		1    server n4 SET by=c1 holder=c1 ttl=20000
		2    c1 ok count=1
		` + when + ` server n5 SET by=c1 holder=c1 ttl=20000
		` + when + ` fault end 1 partition c1 n5
		6000 c1 release
		6001 server n1 DEL by=c1
		6001 server n2 DEL by=c1
		6001 server n3 DEL by=c1
		6001 server n4 DEL by=c1
		6002 c1 ok
		20000 server n5 cause=expiry` + takenAtLast
	}
	briefly := func(away string) string {
		return strings.ReplaceAll(onFive, "8000", "20000") + `
		2090  fault start 1 half-open c1 ` + away + `
		2100  c1 release
		2101  server n1 EVAL by=c1
		2101  server n2 EVAL by=c1
		2101  server n3 EVAL by=c1
		2101  server n4 EVAL by=c1
		2400  c1 ok
		2500  fault end 1 half-open c1 ` + away + `
		20001 server n5 cause=expiry` + takenAtLast
	}
	broken := strings.NewReplacer("2090  fault start 1 half-open c1 n5", "1500 fault start 1 reset c1 n5\n1501 fault end 1 reset c1 n5", "2500  fault end 1 half-open c1 n5", "").Replace(briefly("n5"))
	lateMeanwhile := strings.NewReplacer("2    c1 ok count=1", "", "5000 fault end 1 partition c1 n5", "5000 fault end 1 hold-request c1 n5\n5002 c1 ok count=1", "partition", "hold-request").Replace(lateOnFive("5000"))
	run(t, []propertyTest{
		{"while the server was down", down, held + `
			90   fault start 1 node-restart n1
			100  c1 release; 400 ok
			6000 fault end 1 node-restart n1
			8001 server n1 cause=expiry
` + next, Errors, Violated, "", "the release of client-1/1 succeeded at 0.400 s; node-1 held the lock for it until 8.001 s", "server log"},
		{"while the server was down, which came back with it", down, held + `
			90   fault start 1 node-restart n1
			100  c1 release; 400 ok
			6000 fault end 1 node-restart n1
			6000 server n1 cause=restart holder=c1 ttl=2001
			8001 server n1 cause=expiry` + next, Errors, Violated, "", "node-1 held the lock for it until 8.001 s", "server log"},
		{"carried out by a server that forgot it", down, held + `
			90   fault start 1 node-crash n1
			100  c1 gives
			6000 fault end 1 node-crash n1
			6000 server n1 cause=restart holder=c1 ttl=2001
			8001 server n1 cause=expiry` + next, Errors, OutcomeOK, "", "", ""},
		{"unknown while the server was down", down, held + `
			90   fault start 1 node-restart n1
			100  c1 release; 400 info err=unknown
			6000 fault end 1 node-restart n1
			8001 server n1 cause=expiry
` + next, Errors, OutcomeOK, "", "", ""},
		{"on the server that was promoted", down, held + `
			2    server n1r1 SET by=c1 holder=c1 ttl=8000
			90   fault start 1 failover n1
			100  c1 release
			101  server n1r1 EVAL by=c1 role=primary
			102  c1 ok
			8001 server n1 cause=expiry
` + next, Errors, OutcomeOK, "", "", ""},
		{"on two of five", quorum, onFive + `
			90   fault start 1 partition c1 n1
			90   fault start 2 partition c1 n2
			90   fault start 3 partition c1 n3
			100  c1 release
			101  server n4 EVAL by=c1
			101  server n5 EVAL by=c1
			400  c1 ok
			8001 server n3 cause=expiry` + gone, Errors, Violated, "", "the release of client-1/1 succeeded at 0.400 s", "server log"},
		{"on three of five", quorum, onFive + `
			90   fault start 1 partition c1 n1
			90   fault start 2 partition c1 n2
			100  c1 release
			101  server n3 EVAL by=c1
			101  server n4 EVAL by=c1
			101  server n5 EVAL by=c1
			400  c1 ok` + gone, Errors, OutcomeOK, "", "", ""},
		{"that a late request of its acquire makes once more on one of five", giving, lateOnFive("5000"), Errors, OutcomeOK, "", "", ""},
		{"that a request of its acquire had made on one of five", giving, lateOnFive("1000"), Errors, Violated, "", "node-5 held the lock for it until", "server log"},
		{"but for one of five that was out of reach for a while", quorum, briefly("n5"), Errors, OutcomeOK, "", "", ""},
		{"but for one of five, while another one was out of reach for a while", quorum, briefly("n4"), Errors, Violated, "", "node-5 held the lock for it until", "server log"},
		{"but for one of five that was out of reach for a while, by a lock that goes on", giving, briefly("n5"), Errors, Violated, "", "node-5 held the lock for it until", "server log"},
		{"but for one of five, whose idle connection had broken before", quorum, broken, Errors, OutcomeOK, "", "", ""},
		{"but for one of five, whose idle connection had broken before, by a lock that goes on", giving, broken, Errors, Violated, "", "node-5 held the lock for it until", "server log"},
		{"but for one of five, where a late request came during the acquire", quorum, lateMeanwhile, Errors, OutcomeOK, "", "", ""},
		{"but for one of five, where a late request came, by a lock that goes on", giving, lateMeanwhile, Errors, Violated, "", "node-5 held the lock for it until", "server log"},
		{"on two of three that are all needed", every, `
			0    c1 acquire lease=8000
			1    server n1 SET by=c1 holder=c1 ttl=8000
			1    server n2 SET by=c1 holder=c1 ttl=8000
			1    server n3 SET by=c1 holder=c1 ttl=8000
			2    c1 ok count=1
			90   fault start 1 partition c1 n1
			100  c1 release
			101  server n2 EVAL by=c1
			101  server n3 EVAL by=c1
			400  c1 ok
			8001 server n1 cause=expiry
` + next, Errors, Violated, "", "node-1 held the lock for it until 8.001 s", "server log"},
	})
}

// An owner whose release reports that the hold is lost has lost it.
func TestAReleaseThatSpeaksOfALoss(t *testing.T) {
	const held = `
		0    c1 takes lease=8000
		`
	// The connection of a request is broken, and the request waits in its client.
	const broken, restarted = `
		0    fault start 1 node-restart n1
		0    fault end 1 node-restart n1
		10   c1 acquire lease=8000
		`, `
		4000 server n1 SET by=c1 holder=c1 ttl=8000
		4001 c1 ok count=1
		7900 c1 release; 7901 fail err=lost
		12000 server n1 cause=expiry
		12100 c2 takes lease=1000
		12110 c2 gives`
	run(t, []propertyTest{
		{"while the server keeps the hold", leased(nil), held + `
			100  c1 release; 101 fail err=lost
			8001 server n1 cause=expiry
` + next, Errors, Violated, "", "the servers kept it until 8.001 s", "server log"},
		{"when it held nothing that anybody saw", leased(nil), held + `
			100  c1 release; 101 fail err=not-held
			8001 server n1 cause=expiry
` + next, Errors, Violated, "", "the servers kept it until 8.001 s", "server log"},
		{"after a lease that counts from its call", leased(nil), broken + restarted, Errors, OutcomeOK, "", "", ""},
		{"before a lease that counts from its call is over", leased(nil), strings.NewReplacer("7900", "5000", "7901", "5001").Replace(broken + restarted), Errors, Violated, "", "the servers kept it until", ""},
		{"when the lease is all but over", leased(nil), held + `
			7900 c1 release; 7901 fail err=lost
			8001 server n1 cause=expiry
` + next, Errors, OutcomeOK, "", "", ""},
		{"when the server was out of reach since the grant", leased(nil), held + `
			3    fault start 1 partition c1 n1
			7900 c1 release; 7901 fail err=lost
			8001 server n1 cause=expiry
` + next, Errors, OutcomeOK, "", "", ""},
	})
}

// A server that comes back with its data has undone nothing: the release that never
// reached it is the lock's fault.
func TestAServerThatKeepsItsDataExcusesNoRelease(t *testing.T) {
	for kept, inherent := range map[string]bool{
		"6000 server n1 cause=restart holder=c1 ttl=2001": false,
		"6000 server n1 cause=restart":                    true,
	} {
		h := story(t, leased(nil), `
			0    c1 takes lease=8000
			90   fault start 1 node-restart n1
			100  c1 release; 400 ok
			6000 fault end 1 node-restart n1
			`+kept+next)
		h.Header.Faults = []history.PlannedFault{{ID: 1, Fault: "node-restart", Targets: []string{"node-1"},
			Traits: history.Traits{Instant: true, BreaksConnections: true, Refuses: true, StopsNode: true}}}
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[Errors]; v.Outcome != Violated || (v.Inherent != "") != inherent {
			t.Errorf("%s: %+v", kept, v)
		}
	}
}
