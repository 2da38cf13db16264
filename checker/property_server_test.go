package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestOwnershipCountErrors(t *testing.T) {
	run(t, []propertyTest{
		{"deleted by another client", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c2 release
			11   server n1 DEL by=c2
			12   c2 ok
			20   c1 release
			21   c1 fail err=not-held`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"a stored value without identity", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=locked ttl=1000
			2    c1 ok count=1
			10   c2 release
			11   server n1 DEL by=c2
			12   c2 ok`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"taken over after expiry", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1001 server n1 cause=expiry
			1010 c2 acquire lease=1000
			1011 server n1 SET by=c2 holder=c2 ttl=1000
			1012 c2 ok count=1
			1020 c2 release
			1021 server n1 DEL by=c2
			1022 c2 ok`, Ownership, OutcomeOK, "", "", "server log"},
		{"cancelled while it was stopped in the call", leased(func(h *history.Header) { h.Order = history.TotalOrder }), `
			0    fault start 1 pause c1
			1    fault start 2 cancel c1
			50   fault end 1 pause c1
			50   c1 acquire lease=1000 wait=9000
			50   c1 fail err=canceled
			60   c2 acquire lease=1000
			61   server n1 SET by=c2 holder=c2 ttl=1000
			62   c2 ok count=1
			70   c2 release
			71   server n1 DEL by=c2
			72   c2 ok`, Errors, OutcomeOK, "", "", ""},
		{"cancelled before it was stopped", leased(func(h *history.Header) { h.Order = history.TotalOrder }), `
			0    fault start 2 cancel c1
			1    fault start 1 pause c1
			50   fault end 1 pause c1
			50   c1 acquire lease=1000 wait=9000
			50   c1 fail err=canceled
			60   c2 acquire lease=1000
			61   server n1 SET by=c2 holder=c2 ttl=1000
			62   c2 ok count=1
			70   c2 release
			71   server n1 DEL by=c2
			72   c2 ok`, Errors, Violated, "", "nobody had cancelled it", ""},
		{"no log", leased(nil), "0 c1 acquire lease=1000\n1 c1 ok count=1\n2 c1 release\n3 c1 ok", Ownership, Unknown, "", noServerLog, ""},
		{"first acquire counts 2", leased(nil), `
			0    c1 acquire lease=1000
			1    c1 ok count=2
			2    c1 release
			3    c1 ok count=1`, Count, Violated, "", "returned count 2", ""},
		{"unclear acquire may have counted", leased(nil), `
			0    c1 acquire lease=1000
			1    c1 info err=unknown
			2    c1 acquire lease=1000
			3    c1 ok count=2
			4    c1 release
			5    c1 ok count=1
			6    c1 release
			7    c1 ok`, Count, OutcomeOK, "", "", ""},
		{"balanced and yet held", leased(nil), `
			0    c1 acquire lease=5000
			1    server n1 EVAL by=c1 holder=c1 ttl=5000
			2    server n1 EVAL by=c1 holder=c1 count=2 ttl=5000
			3    c1 ok count=1
			10   c1 release
			11   server n1 EVAL by=c1 holder=c1 ttl=5000
			12   c1 ok
			3000 end`, Count, Violated, "", "", "server log"},
		{"handed over", leased(nil), handover, Count, OutcomeOK, "", "", ""},
		{"undocumented class", leased(nil), "0 c1 acquire lease=1\n1 c1 fail err=other msg=boom", Errors, Violated, "", "boom", ""},
		{"released, and told otherwise", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c1 release
			11   server n1 DEL by=c1
			12   c1 fail err=not-held`, Errors, Violated, "", "it had released its hold", "server log"},
		{"granted, and told busy", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 fail err=busy`, Errors, Violated, "", "the servers had granted it", "server log"},
		{"released nothing", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1001 server n1 cause=expiry
			1100 c1 release
			1101 c1 ok`, Errors, Violated, "", "no server held the lock for it", "server log"},
		{"released another's hold", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			900  c1 release
			1001 server n1 cause=expiry
			1010 c2 acquire lease=1000
			1011 server n1 SET by=c2 holder=c2 ttl=1000
			1012 c2 ok count=1
			1100 server n1 DEL by=c1
			1101 c1 ok
			1200 c2 release
			1201 c2 fail err=not-held`, Errors, Violated, "", "was the hold of client-2/1", "server log"},
		{"all in order", leased(nil), handover, Errors, OutcomeOK, "", "", ""},
		{"keys remain", leased(nil), handover + "\n 900 end keys=stock subs=1", Cleanup, Violated, "", "1 key (stock), 1 subscription", ""},
	})
}

// takenBackOfThree is a level that three servers granted and one gives up.
const takenBackOfThree = `
			0    c1 acquire lease=2000
			1    server n1 EVAL by=c1 holder=c1 ttl=2000
			2    server n2 EVAL by=c1 holder=c1 ttl=2000
			3    server n3 EVAL by=c1 holder=c1 ttl=2000
			4    c1 ok count=1
			10   c1 acquire lease=6000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=6000
			12   server n2 EVAL by=c1 holder=c1 count=2 ttl=6000
			13   server n3 EVAL by=c1 holder=c1 count=2 ttl=6000
			14   c1 ok count=2
			500  server n3 EVAL by=c1 holder=c1 count=1 ttl=1503`

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
			0    c1 acquire lease=1000 renewed
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			`
	run(t, []propertyTest{
		{"as asked", leased(nil), handover, Lease, OutcomeOK, "", "", "server log"},
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
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok`, Lease, Violated, "", "without an expiry", "server log"},
		{"without end between two commands", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SETNX by=c1 holder=c1 ttl=-1
			2    server n1 EXPIRE by=c1 holder=c1 ttl=1000
			3    c1 ok count=1
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok`, Lease, OutcomeOK, "", "", ""},
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
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			500  server n1 cause=expiry
			600  c1 release
			601  c1 fail err=not-held`, Lease, Violated, "", "expired at 0.500 s; 501 ms of its lease", ""},
		{"an orphan expires while its owner asks again", leased(nil), handover + `
			2000 c1 acquire lease=1000
			2001 server n1 SET by=c1 holder=c1 ttl=1000
			2100 c1 fail err=busy
			2900 c1 acquire lease=1000 wait=900
			3001 server n1 cause=expiry
			3100 server n1 SET by=c1 holder=c1 ttl=1000
			3101 c1 ok count=1
			3200 c1 release
			3201 server n1 DEL by=c1
			3202 c1 ok`, Lease, OutcomeOK, "", "", ""},
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
			20   c1 release
			21   c1 ok count=1
			30   c1 release
			31   c1 ok`, Lease, OutcomeOK, "", "", ""},
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
		{"in time", renewed, hold + `
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			700  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			900  c1 release
			901  server n1 DEL by=c1
			902  c1 ok`, Renewal, OutcomeOK, "", "", "server log"},
		{"as soon as the grant arrives", renewed, heardLate + `
			801  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			900  c1 release
			901  server n1 DEL by=c1
			902  c1 ok`, Renewal, OutcomeOK, "", "", "server log"},
		{"long after the grant arrives", renewed, heardLate + `
			990  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			995  c1 release
			996  server n1 DEL by=c1
			997  c1 ok`, Renewal, Violated, "", "was not renewed on node-1 for 989 ms", ""},
		{"too late", renewed, hold + `
			450  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			500  c1 release
			501  server n1 DEL by=c1
			502  c1 ok`, Renewal, Violated, "", "was not renewed on node-1 for 449 ms", ""},
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
			1300 c1 release
			1301 server n1 DEL by=c1
			1302 c1 ok`, Renewal, OutcomeOK, "", "", ""},
		{"too late because paused", struck, hold + `
			300  fault start 1 pause c1
			800  fault end 1 pause c1
			900  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			950  c1 release
			951  server n1 DEL by=c1
			952  c1 ok`, Renewal, OutcomeOK, "", "", ""},
		{"after the release", renewed, hold + `
			100  c1 release
			101  c1 ok
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000`, Renewal, Violated, "", "after it had ended", ""},
	})
}

func TestProgressAndFairness(t *testing.T) {
	fair := leased(func(h *history.Header) { h.Claims.Fairness = true })
	far := leased(func(h *history.Header) { h.Claims.Fairness, h.Latency = true, 20*millisecond })
	comesAt := func(when string) string { // c2 waits from 10 on
		return `
			5   c1 acquire lease=1000
			6   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			` + when + ` c3 acquire lease=1000 wait=900
			350 c1 release
			351 c1 ok
			352 c3 ok count=1
			353 c3 release
			354 c3 ok
			355 c2 ok count=1`
	}
	const askedBefore = "0 c2 acquire lease=1000\n1 c2 ok count=1\n2 c2 release\n3 c2 ok"
	dropped := leased(nil)
	dropped.Faults = []history.PlannedFault{{ID: 1, Fault: "drop-message"}}
	cut := leased(nil)
	cut.Faults = []history.PlannedFault{{ID: 1, Fault: "partition"}}
	sleeper := func(fault string) string {
		return `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c2 acquire lease=1000 wait=9000
			20   ` + fault + `
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok
			1500 server n1 SET by=c2 holder=c2 ttl=1000
			1501 c2 ok count=1
			1600 c2 release
			1601 server n1 DEL by=c2
			1602 c2 ok`
	}
	run(t, []propertyTest{
		{"never returns", leased(nil), "0 c1 acquire lease=1000\n9000 end", Progress, Violated, "", "never returned", ""},
		{"crashed, so need not return", leased(nil), "0 c1 acquire lease=1000\n1 c1 crash\n9000 c2 acquire lease=1000\n9001 c2 ok count=1\n9100 c2 release\n9101 c2 ok", Progress, OutcomeOK, "", "", ""},
		{"overruns its wait", leased(nil), "0 c1 acquire lease=1000 wait=100\n1101 c1 fail err=canceled", Progress, Violated, "", "returned 1.001 s late", ""},
		{"just in time", leased(nil), "0 c1 acquire lease=1000 wait=100\n1100 c1 ok count=1\n1101 c1 release\n1102 c1 ok", Progress, OutcomeOK, "", "", ""},
		{"sleeps on a free lock", dropped, sleeper("fault start 1 drop-message c2 n1"), Progress, Violated, "", "slept on a free lock", "server log"},
		{"cut off meanwhile", cut, sleeper("fault start 1 partition c2 n1"), Progress, OutcomeOK, "", "", ""},
		{"waits for nobody", leased(nil), "0 c1 acquire lease=1000 wait=9000\n4000 c1 ok count=1", Progress, Violated, "", "while nobody held the lock", ""},
		{"waits for a crashed holder", leased(func(h *history.Header) { h.Claims.Lease = false }),
			"0 c1 acquire\n1 c1 ok count=1\n500 c1 crash\n600 c2 acquire wait=9000\n9600 c2 fail err=busy", Progress, Violated, "",
			"client-1/1, the last to hold it, was gone at 0.500 s, and the lock has no leases", ""},
		{"panics", leased(nil), "0 c1 acquire lease=1000\n1 c1 panic msg=nil-map", Progress, Violated, "", "nil-map", ""},
		{"overtaken", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			100 c3 acquire lease=1000 wait=900
			200 c1 release
			201 c1 ok
			202 c3 ok count=1
			203 c3 release
			204 c3 ok
			205 c2 ok count=1`, Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken and refused", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			100 c3 acquire lease=1000 wait=900
			200 c1 release
			201 c1 ok
			202 c3 ok count=1
			910 c2 fail err=busy
			911 c3 release
			912 c3 ok`, Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"refused, and then another granted", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=190
			100 c3 acquire lease=1000 wait=900
			190 c1 release
			191 c1 ok
			201 c3 ok count=1
			205 c2 fail err=busy
			911 c3 release
			912 c3 ok`, Fairness, OutcomeOK, "", "", ""},
		{"overtaken on its way, at first", far, comesAt("200"), Fairness, OutcomeOK, "", "", ""},
		{"overtaken after the longest way", far, comesAt("280"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken on its way, again", far, askedBefore + comesAt("140"), Fairness, OutcomeOK, "", "", ""},
		{"overtaken after a way that it knows", far, askedBefore + comesAt("200"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken on a fast network", fair, comesAt("200"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"in order", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			40  c3 acquire lease=1000 wait=900
			200 c1 release
			201 c1 ok
			202 c3 ok count=1
			203 c3 release
			204 c3 ok
			205 c2 ok count=1`, Fairness, OutcomeOK, "", "", ""},
	})
}

// The end of an inner hold, or of an inner acquire that failed, leaves the outer hold as
// it was: its count, and its lease if the lock claims that.
func TestTheEndOfAnInnerHold(t *testing.T) {
	plain := leased(nil)
	perHold := leased(func(h *history.Header) { h.Claims.LeasePerHold, h.Claims.TakesBack = true, true })
	nested := func(outer, ended, left string) string {
		return `
		0    c1 acquire lease=1000` + outer + `
		1    server n1 EVAL by=c1 holder=c1 count=1 ttl=1000
		2    c1 ok count=1
		10   c1 acquire lease=9000
		11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
		` + ended + left + `
		3000 end`
	}
	const released = `
		12   c1 ok count=2
		20   c1 release
		` + "%s" + `
		22   c1 ok count=1`
	const failed = `
		12   c1 fail err=canceled
		%s`
	given := func(ended, change string) string { return strings.Replace(ended, "%s", change, 1) }
	const shortened = "21 server n1 EVAL by=c1 holder=c1 count=1 ttl=980"
	const left = "21 server n1 EVAL by=c1 holder=c1 count=1 ttl=8990"
	const late = "300 server n1 EVAL by=c1 holder=c1 count=1 ttl=701"
	run(t, []propertyTest{
		{"is released", perHold, nested("", given(released, shortened), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is released, and leaves its lease", perHold, nested("", given(released, left), ""), Lease, Violated, "", "left its outer hold on node-1 until 9.011 s, 8.009 s longer than its lease", "server log"},
		{"is released, and leaves its lease, as no claim forbids", plain, nested("", given(released, left), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is released, and its outer hold is renewed from then on", perHold, nested(" renewed", given(released, "21 server n1 EVAL by=c1 holder=c1 count=1 ttl=1000"), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is released, after a way that a fault made long", perHold, nested("", "12 c1 ok count=2\n20 fault start 1 delay c1\n20 c1 release\n600 server n1 EVAL by=c1 holder=c1 count=1 ttl=980\n600 fault end 1 delay c1\n601 c1 ok count=1", ""), Lease, OutcomeOK, "", "", "server log"},
		{"is taken back", perHold, nested("", given(failed, late), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is taken back, and leaves its lease", perHold, nested("", given(failed, "300 server n1 EVAL by=c1 holder=c1 count=1 ttl=8711"), ""), Lease, Violated, "", "the acquire of client-1/1 at 0.012 s left its outer hold on node-1 until 9.011 s", "server log"},
		{"is released, and still counts", plain, nested("", given(released, ""), ""), Count, Violated, "", "the release of client-1/1 left 1 hold; node-1 counts 2 at 0.022 s", "server log"},
		{"is not taken back", perHold, nested("", given(failed, ""), ""), Count, Violated, "", "the acquire of client-1/1 left 1 hold; node-1 counts 2 at 1.012 s", "server log"},
		{"is not taken back, as no claim demands", plain, nested("", given(failed, ""), ""), Count, OutcomeOK, "", "", ""},
		{"counts until its owner releases again", plain, nested("", given(released, ""), "\n22 c1 release\n23 server n1 DEL by=c1\n24 c1 ok"), Count, OutcomeOK, "", "", ""},
	})
}

// A fault excuses a late renewal, but not a watchdog that never comes back.
func TestRenewalAfterAFault(t *testing.T) {
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
		{"comes back", renewed, hiccup + `
			2500  server n1 EVAL by=c1 holder=c1 ttl=6000
			3000  c1 release
			3001  server n1 DEL by=c1
			3002  c1 ok`, Renewal, OutcomeOK, "", "", "server log"},
		{"finds a broken connection when it renews", renewed, broken + `
			1550  server n1 EVAL by=c1 holder=c1 ttl=6000
			1800  c1 release
			1801  server n1 DEL by=c1
			1802  c1 ok`, Renewal, OutcomeOK, "", "", "server log"},
		{"finds a broken connection, and comes back late", renewed, broken + `
			1800  server n1 EVAL by=c1 holder=c1 ttl=6000
			1900  c1 release
			1901  server n1 DEL by=c1
			1902  c1 ok`, Renewal, Violated, "", "to be renewed every 1.000 s", "server log"},
		{"never comes back", renewed, hiccup + `
			3500  c1 release
			3501  server n1 DEL by=c1
			3502  c1 ok`, Renewal, Violated, "", "although nothing was wrong any more after 2.000 s", "server log"},
	})
}
