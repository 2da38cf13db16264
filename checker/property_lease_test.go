package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestLeaseAndRenewal(t *testing.T) {
	const heardLate = `
		0    c1 acquire lease=1000 renewed
		1    server n1 SET by=c1 holder=c1 ttl=1000
		800  c1 ok count=1
		`
	renewed := leased(func(h *history.Header) { h.Claims.Renewal = true; h.Claims.RenewEvery = 333 * millisecond })
	struck := renewed
	struck.Faults = []history.PlannedFault{{ID: 1, Fault: "pause"}}
	hold := `
			0    c1 takes lease=1000 renewed
			`
	run(t, []propertyTest{
		{"a server that knows no end for a moment", leased(nil), `
			0  c1 acquire lease=1000
			1  server n1 SET by=c1 holder=c1 ttl=-1
			2  c1 ok count=1
			10 c1 gives`, Lease, OutcomeOK, "", "", "server log"},
		{"as asked", leased(nil), handover, Lease, OutcomeOK, "", "", "server log"},
		{"handed on after a lost hold of the same owner", leased(func(h *history.Header) { h.Claims.Fairness = true }), `
			0    c1 takes lease=1000
			900  c1 lost
			910  c1 release; 910 fail err=lost
			920  c1 acquire lease=1000 wait=500
			1000 server n1 cause=expiry
			1010 server n1 EVAL by=c1 holder=c1 ttl=300
			1020 server n1 EVAL by=c1 holder=c1 ttl=1000
			1021 c1 ok count=1
			1100 c1 gives`, Lease, OutcomeOK, "", "", "server log"},
		{"handed on for what the place of the waiter had left", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 EVAL by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c2 acquire lease=1000 wait=1000
			20   c1 release
			21   server n1 EVAL by=c1 holder=c2 ttl=300
			22   c1 ok
			22   c2 ok count=1
			23   server n1 EVAL by=c2 holder=c2 ttl=1000
			30   c2 release
			31   server n1 EVAL by=c2
			32   c2 ok`, Lease, OutcomeOK, "", "", "server log"},
		{"taken by its owner for less than asked", leased(nil), `
			0    c2 acquire lease=1000
			1    server n1 EVAL by=c2 holder=c2 ttl=300
			2    c2 ok count=1
			30   c2 release
			31   server n1 EVAL by=c2
			32   c2 ok`, Lease, Violated, "", "were still owed", ""},
		{"without end", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SETNX by=c1 holder=c1 ttl=-1
			2    c1 ok count=1
			100  c1 gives`, Lease, Violated, "", "without an expiry", "server log"},
		{"without end between two commands", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SETNX by=c1 holder=c1 ttl=-1
			2    server n1 EXPIRE by=c1 holder=c1 ttl=1000
			3    c1 ok count=1
			100  c1 gives`, Lease, OutcomeOK, "", "", ""},
		{"longer than asked", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=30000
			2    c1 ok count=1`, Lease, Violated, "", "a TTL of 30.000 s", ""},
		{"a nested hold cuts the outer short", leased(nil), `
			0    c1 acquire lease=10000
			1    server n1 EVAL by=c1 holder=c1 ttl=10000
			2    c1 ok count=1
			10   c1 acquire lease=1000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
			12   c1 ok count=2`, Lease, Violated, "", "were still owed", ""},
		{"expired before its time", leased(nil), `
			0    c1 takes lease=1000
			500  server n1 cause=expiry
			600  c1 release; 601 fail err=not-held`, Lease, Violated, "", "expired at 0.500 s; 501 ms of its lease", ""},
		{"an orphan expires while its owner asks again", leased(nil), handover + `
			2000 c1 acquire lease=1000
			2001 server n1 SET by=c1 holder=c1 ttl=1000
			2100 c1 fail err=busy
			2900 c1 acquire lease=1000 wait=900
			3001 server n1 cause=expiry
			3100 server n1 SET by=c1 holder=c1 ttl=1000
			3101 c1 ok count=1
			3200 c1 gives`, Lease, OutcomeOK, "", "", ""},
		{"a server that joins at a nested hold", leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum = 3, 2 }), `
			0    c1 acquire lease=10000
			1    server n1 EVAL by=c1 holder=c1 ttl=10000
			2    server n2 EVAL by=c1 holder=c1 ttl=10000
			3    c1 ok count=1
			10   c1 acquire lease=1000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9990
			12   server n2 EVAL by=c1 holder=c1 count=2 ttl=9990
			13   server n3 EVAL by=c1 holder=c1 ttl=1000
			14   c1 ok count=2
			20   c1 release; 21 ok count=1
			30   c1 release; 31 ok`, Lease, OutcomeOK, "", "", ""},
		{"a server that joined late gives back what it granted", leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum = 3, 2 }), `
			0    c1 acquire lease=8000
			1    server n1 EVAL by=c1 holder=c1 ttl=8000
			2    server n2 EVAL by=c1 holder=c1 ttl=8000
			3    c1 ok count=1
			10   c1 acquire lease=3000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=7990
			12   server n2 EVAL by=c1 holder=c1 count=2 ttl=7990
			13   server n3 EVAL by=c1 holder=c1 ttl=3000
			14   c1 ok count=2
			20   c1 acquire lease=6000
			21   server n1 EVAL by=c1 holder=c1 count=3 ttl=7980
			22   server n2 EVAL by=c1 holder=c1 count=3 ttl=7980
			23   server n3 EVAL by=c1 holder=c1 count=2 ttl=6000
			24   c1 ok count=3
			30   c1 release
			31   server n3 EVAL by=c1 holder=c1 ttl=2980
			32   c1 ok count=2`, Lease, OutcomeOK, "", "", ""},
		{"one of three gives up a level whose grant was not heard", leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum = 3, 2 }), takenBackOfThree,
			Lease, OutcomeOK, "", "", ""},
		{"two of three give up a level that is held", leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum = 3, 2 }), takenBackOfThree + `
			501  server n2 EVAL by=c1 holder=c1 count=1 ttl=1501`, Lease, Violated, "", "left the hold of client-1/1 on node-2 a TTL of 1.501 s at 0.501 s; 5.509 s of its lease were still owed", "server log"},
		{"renewed while a nested acquire is on its way", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 EVAL by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			330  c1 acquire lease=10000
			340  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			350  server n1 EVAL by=c1 holder=c1 count=2 ttl=10000
			360  c1 ok count=2`, Lease, OutcomeOK, "", "", ""},
		{"a nested release gives back its own lease", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 EVAL by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c1 acquire lease=10000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=10000
			12   c1 ok count=2
			20   c1 release
			21   server n1 EVAL by=c1 holder=c1 count=1 ttl=980
			22   c1 ok count=1
			30   c1 release
			31   server n1 EVAL by=c1
			32   c1 ok`, Lease, OutcomeOK, "", "", ""},
		{"a nested release gives back what is owed since the send", leased(nil), `
			0    c1 acquire lease=1000
			40   server n1 EVAL by=c1 holder=c1 ttl=1000
			41   c1 ok count=1
			50   c1 acquire lease=10000
			51   server n1 EVAL by=c1 holder=c1 count=2 ttl=10000
			52   c1 ok count=2
			60   c1 release
			61   server n1 EVAL by=c1 holder=c1 count=1 ttl=940
			62   c1 ok count=1`, Lease, OutcomeOK, "", "", ""},
		{"a nested release after a wait gives back much less than is owed", leased(nil), `
			0    c1 acquire lease=1000 wait=5000
			3000 server n1 EVAL by=c1 holder=c1 ttl=1000
			3001 c1 ok count=1
			3010 c1 acquire lease=10000
			3011 server n1 EVAL by=c1 holder=c1 count=2 ttl=10000
			3012 c1 ok count=2
			3020 c1 release
			3021 server n1 EVAL by=c1 holder=c1 count=1 ttl=860
			3022 c1 ok count=1`, Lease, Violated, "", "were still owed", ""},
		{"handed to the place of an acquire without an answer", leased(func(h *history.Header) { h.Claims.Fairness = true }), placeKept("info err=unknown"), Lease, OutcomeOK, "", "", ""},
		{"the same, and another acquire was refused meanwhile", leased(func(h *history.Header) { h.Claims.Fairness = true }), placeKept("info err=unknown" + refusedMeanwhile), Lease, OutcomeOK, "", "", ""},
		{"handed to an owner without a place, and another acquire was refused meanwhile", leased(func(h *history.Header) { h.Claims.Fairness = true }), placeKept("fail err=busy" + refusedMeanwhile), Lease, Violated, "", "were still owed", ""},
		{"handed to an owner without a place", leased(func(h *history.Header) { h.Claims.Fairness = true }), placeKept("fail err=busy"), Lease, Violated, "", "were still owed", ""},
		{"in time", renewed, hold + `
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			700  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			900  c1 gives`, Renewal, OutcomeOK, "", "", "server log"},
		{"as soon as the grant arrives", renewed, heardLate + `
			801  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			900  c1 gives`, Renewal, OutcomeOK, "", "", "server log"},
		{"long after the grant arrives", renewed, heardLate + `
			990  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			995  c1 gives`, Renewal, Violated, "", "was not renewed on node-1 for 989 ms", ""},
		{"too late", renewed, hold + `
			450  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			500  c1 gives`, Renewal, Violated, "", "was not renewed on node-1 for 449 ms", ""},
		{"never", renewed, hold + `
			1001 server n1 cause=expiry
			1100 c1 lost`, Renewal, Violated, "", "was not renewed", ""},
		{"put off by a longer nested hold", renewed, hold + `
			10   c1 acquire lease=2000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=2000
			12   c1 ok count=2
			1200 c1 release
			1201 server n1 EVAL by=c1 holder=c1 ttl=1000
			1202 c1 ok count=1
			1300 c1 gives`, Renewal, OutcomeOK, "", "", ""},
		{"too late because paused", struck, hold + `
			300  fault start 1 pause c1
			800  fault end 1 pause c1
			900  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			950  c1 gives`, Renewal, OutcomeOK, "", "", ""},
		{"after the release", renewed, hold + `
			100  c1 release; 101 ok
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000`, Renewal, Violated, "", "after it had ended", ""},
	})
}

// A fault excuses a late renewal, but not a watchdog that never comes back.
func TestRenewalAfterAFault(t *testing.T) {
	seldom := leased(func(h *history.Header) { h.Claims.Renewal, h.Claims.RenewEvery = true, 5*int64(second) })
	diesOfOneError := func(from, to string) string {
		return "0 c1 acquire lease=10000 renewed\n1 server n1 SET by=c1 holder=c1 ttl=10000\n2 c1 ok count=1\n" +
			from + " fault start 1 node-restart n1\n" + to + " fault end 1 node-restart n1\n10000 server n1 cause=expiry\n" + `
			10010 c2 takes lease=1000
			10013 c2 gives
			10050 c1 lost`
	}
	renewed := leased(func(h *history.Header) { h.Claims.Renewal, h.Claims.RenewEvery = true, int64(second) })
	hiccup := `
		0     c1 acquire lease=6000 renewed
		1     server n1 EVAL by=c1 holder=c1 ttl=6000
		2     c1 ok count=1
		900   fault start 1 node-crash n1
		2000  fault end 1 node-crash n1
		`
	const broken = `
		0     c1 acquire lease=6000 renewed
		1     server n1 EVAL by=c1 holder=c1 ttl=6000
		2     c1 ok count=1
		100   fault start 1 reset c1 n1
		110   fault end 1 reset c1 n1
		`
	run(t, []propertyTest{
		{"no second try where the next renewal comes too late", seldom, diesOfOneError("4900", "5200"), Renewal, Violated, "", "although nothing was wrong any more", "server log"},
		{"no time for a second try", seldom, diesOfOneError("4900", "8200"), Renewal, OutcomeOK, "", "", "server log"},
		{"comes back", renewed, hiccup + `
			2500  server n1 EVAL by=c1 holder=c1 ttl=6000
			3000  c1 gives`, Renewal, OutcomeOK, "", "", "server log"},
		{"finds a broken connection when it renews", renewed, broken + `
			1550  server n1 EVAL by=c1 holder=c1 ttl=6000
			1800  c1 gives`, Renewal, OutcomeOK, "", "", "server log"},
		{"finds a broken connection, and comes back late", renewed, broken + `
			1800  server n1 EVAL by=c1 holder=c1 ttl=6000
			1900  c1 gives`, Renewal, Violated, "", "to be renewed every 1.000 s", "server log"},
		{"never comes back", renewed, hiccup + `
			3500  c1 gives`, Renewal, Violated, "", "although nothing was wrong any more after 2.000 s", "server log"},
	})
}

// refusedMeanwhile is one more acquire of the owner of placeKept, which did nothing.
const refusedMeanwhile = `
		902  c1 acquire lease=3000 wait=3000
		905  c1 fail err=refused`

// placeKept is an owner whose earlier acquire ended with an answer, while its server was down.
func placeKept(answer string) string {
	return `
		0    fault start 1 node-crash n1
		1    c1 acquire lease=3000 wait=900
		901  c1 ` + answer + `
		910  c1 acquire lease=3000 wait=3000
		1400 fault end 1 node-crash n1
		1450 server n1 EVAL by=c1 holder=c1 ttl=800
		1460 server n1 EVAL by=c1 holder=c1 ttl=3000
		1461 c1 ok count=1`
}
