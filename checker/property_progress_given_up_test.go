package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The traces that a lock leaves behind when no owner holds it for certain. The judges saw
// none of these until a lock of the gallery left them.
func TestGivenUp(t *testing.T) {
	takesBack := leased(func(h *history.Header) { h.Claims.TakesBack = true })
	acks := leased(func(h *history.Header) { h.Claims.Acks = 1 })
	const replicasGone = `
			0     c2 takes lease=5000
			10    c2 gives
			50    fault start 1 cut-replication n1r1
			60    fault end 1 cut-replication n1r1`
	// Client-1's acquire is cancelled after the server has granted it.
	orphan := func(fault, until string) string {
		return `
			0     c2 takes lease=5000
			10    c2 gives
			` + fault + `
			100   c1 acquire lease=5000 wait=1000
			101   server n1 SET by=c1 holder=c1 ttl=5000
			102   c1 info err=unknown
			` + until + ` server n1 cause=expiry
			9000  end`
	}
	takesBackTotal := leased(func(h *history.Header) { h.Claims.TakesBack, h.Order = true, history.TotalOrder })
	paused := func(from, to string) string {
		return strings.Replace(orphan("", "5101"), "102   c1 info", from+" fault start 1 pause c1\n"+to+" fault end 1 pause c1\n"+to+" c1 info", 1)
	}
	broken := func(until string) string {
		return strings.Replace(orphan("", until), "102   c1 info", "101 fault start 1 half-open c1\n101.5 fault end 1 half-open c1\n102 c1 info", 1)
	}
	lostSign := leased(func(h *history.Header) { h.Claims.LostSign = true })
	quorum := majorityOf(3)
	const grantedAndReleased = `
		1   c1 acquire lease=5000
		2   server n1 SET by=c1 holder=c1 ttl=5000
		2   server n2 SET by=c1 holder=c1 ttl=5000
		3   c1 ok count=1
		10  c1 release
		11  server n1 DEL by=c1
		11  server n2 DEL by=c1
		12  c1 ok
		`
	const calledLost = `
		0     c2 takes lease=1000
		3     c2 gives
		10    c1 takes lease=1000
		300   c1 lost
		`
	run(t, []propertyTest{
		{"left behind", takesBack, orphan("", "5101"), Progress, Violated, "", "node-1 held the lock for it until 5.101 s", "server log"},
		{"left behind, and not promised otherwise", leased(nil), orphan("", "5101"), Progress, OutcomeOK, "", "", ""},
		{"taken back", takesBack, orphan("", "110"), Progress, OutcomeOK, "", "", ""},
		{"cut off for long", takesBack, orphan("50 fault start 1 partition c1", "5101"), Progress, OutcomeOK, "", "", ""},
		{"cut off, and its connections break in good time", takesBack, orphan("50 fault start 1 partition c1", "2000 fault end 1 partition c1\n2060 fault start 2 reset c1 n1\n5101"), Progress, Violated, "", "node-1 held the lock for it until 5.101 s", "server log"},
		{"cut off, and its connections break late", takesBack, orphan("50 fault start 1 partition c1", "2000 fault end 1 partition c1\n2090 fault start 2 reset c1 n1\n5101"), Progress, OutcomeOK, "", "", ""},
		{"a connection broke during the acquire", takesBack, broken("2100"), Progress, OutcomeOK, "", "", ""},
		{"a connection broke during the acquire, and that is no excuse for ever", takesBack, broken("2200"), Progress, Violated, "", "node-1 held the lock for it until 2.200 s", "server log"},
		{"while requests get lost", takesBack, orphan("50 fault start 2 half-open c1 n1", "500 fault end 2 half-open c1 n1\n3700"), Progress, OutcomeOK, "", "", ""},
		{"a release that its closing client refuses", leased(nil), "0 c2 acquire lease=1000\n2 c2 ok count=1\n3 c2 release\n4 c2 ok\n10 c1 acquire lease=1000\n12 c1 ok count=1\n500 c1 release\n500 c1 fail err=canceled\n501 c1 closed", Errors, OutcomeOK, "", "", ""},
		{"a release that its client gives up, and then closes", leased(nil), "0 c2 acquire lease=1000\n2 c2 ok count=1\n3 c2 release\n4 c2 ok\n10 c1 acquire lease=1000\n12 c1 ok count=1\n500 c1 release\n510 c1 fail err=canceled\n511 c1 closed", Errors, Violated, "", "was given up at 0.510 s", ""},
		{"a release that a client gives up during its close", leased(nil), "0 c2 acquire lease=1000\n2 c2 ok count=1\n3 c2 release\n4 c2 ok\n10 c1 acquire lease=1000\n12 c1 ok count=1\n500 c1 release\n510 c1 fail err=canceled\n900 c1 closed since=400", Errors, OutcomeOK, "", "", ""},
		{"a release that a client gives up before its close", leased(nil), "0 c2 acquire lease=1000\n2 c2 ok count=1\n3 c2 release\n4 c2 ok\n10 c1 acquire lease=1000\n12 c1 ok count=1\n500 c1 release\n510 c1 fail err=canceled\n900 c1 closed since=511", Errors, Violated, "", "was given up at 0.510 s", ""},
		{"a release that a client gives up during a close that a crash ends", leased(nil), "0 c2 acquire lease=1000\n2 c2 ok count=1\n3 c2 release\n4 c2 ok\n10 c1 acquire lease=1000\n12 c1 ok count=1\n500 c1 release\n510 c1 fail err=canceled\n511 c1 crash since=400", Errors, OutcomeOK, "", "", ""},
		{"a hold that its closing client calls lost", lostSign, calledLost + "900 c1 closed\n1011 server n1 cause=expiry", Errors, OutcomeOK, "", "", ""},
		{"a hold that is called lost", lostSign, calledLost + "1011 server n1 cause=expiry", Errors, Violated, "", "the servers kept it until 1.011 s", "server log"},
		{"a request that waited while one of several servers refused connections", quorum, "0 fault start 1 node-restart n3\n" + grantedAndReleased + "300 fault end 1 node-restart n3\n330 server n3 SET by=c1 holder=c1 ttl=5000\n400 server n3 DEL by=c1", Count, OutcomeOK, "", "", ""},
		{"a request that nothing delayed", quorum, grantedAndReleased + "330 server n3 SET by=c1 holder=c1 ttl=5000\n400 server n3 DEL by=c1", Count, Violated, "", "node-3 counted 1 hold of client-1/1 at 0.330 s", "server log"},
		{"left behind after a short pause, at whose end it gave up", takesBackTotal, paused("1050", "2000"), Progress, Violated, "", "node-1 held the lock for it until 5.101 s", "server log"},
		{"left behind after a long pause, at whose end it gave up", takesBackTotal, paused("102", "4000"), Progress, OutcomeOK, "", "", ""},
		{"left behind, and its owner waits for itself", leased(func(h *history.Header) { h.Claims.TakesBack, h.Claims.Reentrant = true, false }), `
			0     c1 acquire lease=5000 wait=1000
			1     server n1 SET by=c1 holder=c1 ttl=5000
			2     c1 fail err=canceled
			60    c1 acquire lease=5000 wait=1000; 1060 fail err=busy
			5001  server n1 cause=expiry
			9000  end`, Progress, Violated, "", "ended at 0.002 s without a grant; node-1 held the lock for it until 5.001 s", "server log"},
		{"its owner takes it again", takesBack, `
			0     c1 acquire lease=5000 wait=1000
			1     server n1 SET by=c1 holder=c1 ttl=5000
			2     c1 fail err=canceled
			60    c1 acquire lease=5000 wait=1000
			61    server n1 SET by=c1 holder=c1 ttl=5000
			62    c1 ok count=1
			4000  c1 gives
			9000  end`, Progress, OutcomeOK, "", "", ""},
		{"a nested acquire leaves the outer hold", takesBack, `
			0     c1 acquire lease=5000
			1     server n1 EVAL by=c1 holder=c1 ttl=5000
			2     c1 ok count=1
			10    c1 acquire lease=5000; 11 info err=unknown
			2000  c1 gives`, Progress, OutcomeOK, "", "", ""},
		{"refused for want of replicas", takesBack, `
			0     c2 takes lease=5000
			10    c2 gives
			50    fault start 1 cut-replication n1r1
			100   c1 acquire lease=5000
			101   server n1 SET by=c1 holder=c1 ttl=5000
			102   c1 fail err=no-acks
			9000  end`, Progress, Violated, "", "ended at 0.102 s without a grant", "server log"},
		{"a try gives the replicas time to confirm its grant", acks, replicasGone + `
			2100  c1 acquire lease=5000 wait=0
			2101  server n1 SET by=c1 holder=c1 ttl=5000
			3200  server n1 DEL by=c1
			3201  c1 fail err=no-acks`, Progress, OutcomeOK, "", "", ""},
		{"a try waits for replicas with nothing to confirm", acks, replicasGone + `
			2010  c2 takes lease=5000
			2100  c1 acquire lease=5000 wait=0
			3201  c1 fail err=busy
			3300  c2 gives`, Progress, Violated, "", "returned 1.101 s late", ""},
		{"waits for a caller that is gone", leased(nil), `
			0     c2 acquire lease=5000; 1 ok count=1
			10    c1 acquire lease=5000 wait=9000
			100   fault start 1 cancel c1
			2000  c2 release; 2001 ok
			2002  c1 ok count=1
			2003  c1 release; 2004 ok`, Progress, Violated, "", "was cancelled at 0.100 s; it went on for 1.902 s", ""},
		{"sleeps beside an owner whose caller is gone", leased(func(h *history.Header) { h.Claims.Handoff = 300 * millisecond }), `
			0     c2 takes lease=5000
			10    c1.2 acquire lease=5000 wait=9000
			20    c1 acquire lease=5000 wait=9000
			100   fault start 1 cancel c1
			101   c1 fail err=canceled
			2000  c2 gives
			3000  server n1 EVAL by=c1 holder=c1.2 ttl=5000
			3001  c1.2 ok count=1
			3002  c1.2 release; 3003 ok`, Progress, Violated, "", "slept on a free lock from 2.001 s to 3.000 s", "server log"},
		{"heeds its caller", leased(nil), `
			0     c2 acquire lease=5000; 1 ok count=1
			10    c1 acquire lease=5000 wait=9000
			100   fault start 1 cancel c1
			101   c1 fail err=canceled
			2000  c2 release; 2001 ok`, Progress, OutcomeOK, "", "", ""},
		{"a release carries on", leased(nil), `
			0     c2 acquire lease=5000; 1 ok count=1
			10    c2 release
			11    fault start 1 cancel c2
			2001  c2 ok`, Progress, OutcomeOK, "", "", ""},
	})
}

func TestClosed(t *testing.T) {
	renewed := leased(func(h *history.Header) { h.Claims.Renewal, h.Claims.RenewEvery = true, int64(second) })
	held := `
		0     c2 acquire lease=3000 renewed
		1     server n1 EVAL by=c2 holder=c2 ttl=3000
		2     c2 ok count=1
		10    c2 gives
		100   c1 acquire lease=3000 renewed
		101   server n1 EVAL by=c1 holder=c1 ttl=3000
		102   c1 ok count=1
		500   c1 closed
		`
	run(t, []propertyTest{
		{"renewed after close", renewed, held + "1101 server n1 EVAL by=c1 holder=c1 ttl=3000\n2000 c1 crash\n9000 end", Renewal, Violated, "", "after it had closed its lock", "server log"},
		{"a renewal that a fault held back until after the close", renewed, strings.Replace(held, "500   c1 closed", "490 fault start 1 hold-request c1 n1\n500   c1 closed", 1) +
			"1101 fault end 1 hold-request c1 n1\n1101 server n1 EVAL by=c1 holder=c1 ttl=3000\n2000 c1 crash\n9000 end", Renewal, OutcomeOK, "", "", "server log"},
		{"silent after close", renewed, held + "2000 c1 crash\n3101 server n1 cause=expiry\n9000 end", Renewal, OutcomeOK, "", "", "server log"},
		{"waits on after close", leased(nil), `
			0     c2 acquire lease=5000; 1 ok count=1
			10    c1 acquire lease=5000 wait=9000
			500   c1 closed
			2000  c2 release; 2001 ok
			2002  c1 ok count=1
			2003  c1 release; 2004 ok`, Progress, Violated, "", "client-1 closed its lock at 0.500 s", ""},
		{"woken by close", leased(nil), `
			0     c2 acquire lease=5000; 1 ok count=1
			10    c1 acquire lease=5000 wait=9000
			500   c1 closed
			501   c1 fail err=canceled
			2000  c2 release; 2001 ok`, Progress, OutcomeOK, "", "", ""},
	})
}

func TestFalseAlarmsAndNeedlessRefusals(t *testing.T) {
	hold := func(told string) string {
		return `
			0     c1 acquire lease=10000 renewed
			1     server n1 EVAL by=c1 holder=c1 ttl=10000
			2     c1 ok count=1
			` + told + `
			9003  c1 gives`
	}
	group := leased(func(h *history.Header) { h.Claims.Quorum, h.Claims.Nodes = 3, 3 })
	free := func(other string) string {
		return `
			9     c1 acquire lease=1000
			10    server n1 EVAL by=c1 holder=c1 ttl=1000
			10    server n2 EVAL by=c1 holder=c1 ttl=1000
			10    server n3 EVAL by=c1 holder=c1 ttl=1000
			11    c1 ok count=1
			20    c1 release
			21    server n1 DEL by=c1
			21    server n2 DEL by=c1
			21    server n3 DEL by=c1
			22    c1 ok
			` + other + `
			100   c3 acquire lease=1000; 101 fail err=busy`
	}
	plain := leased(func(h *history.Header) { h.Claims.Reentrant = false })
	beside := func(ends string) string {
		return `
			0     c1.2 takes lease=9000
			100   fault start 1 partition c1 n1
			110   c1.2 release
			200   c1 acquire lease=1000 wait=100
			250   server n1 EVAL by=c1
			260   server n1 EVAL by=c1 holder=c1 ttl=1000
			300   c1 ` + ends + `
			400   c1.2 info err=unknown
			450   c1.2 release
			500   fault end 1 partition c1 n1
			501   server n1 EVAL by=c1
			502   c1.2 ok`
	}
	fair := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.Fairness = false, true })
	place := func(ends string) string {
		return "0 c2 takes lease=1000\n10 c1 acquire lease=1000 wait=50\n60 c1 " + ends + "\n70 c2 gives\n3100 c1 acquire lease=1000\n3101 server n1 EVAL by=c1 holder=c1 ttl=1000\n3102 c1 fail err=busy"
	}
	held := `
		0     c1 takes lease=1000
		10    c1 acquire lease=1000; 20 fail err=busy
		30    c1 gives`
	run(t, []propertyTest{
		{"told too early", leased(nil), hold("5000 c1 lost"), Errors, Violated, "", "of the loss of its hold at 5.000 s", "server log"},
		{"told a margin early", leased(nil), hold("9000 c1 lost"), Errors, OutcomeOK, "", "", ""},
		{"told early while cut off", leased(nil), hold("10 fault start 1 partition c1\n5000 c1 lost"), Errors, Violated, "", "of the loss of its hold at 5.000 s", "server log"},
		{"told while cut off", leased(nil), hold("10 fault start 1 partition c1\n8000 c1 lost"), Errors, OutcomeOK, "", "", ""},
		{"refused by nobody", group, free(""), Errors, Violated, "", "nobody else asked", "server log"},
		{"refused while a server is out of memory", leased(nil), "0 c2 takes lease=1000\n100 c2 gives\n200 fault start 1 deny n1\n220 c1 acquire lease=1000; 221 fail err=busy", Errors, Violated, "", "nobody else asked", "server log"},
		{"refused while the server is out of reach", leased(nil), "0 c2 takes lease=1000\n100 c2 gives\n200 fault start 1 refuse c1\n220 c1 acquire lease=1000; 221 fail err=busy", Errors, OutcomeOK, "", "", ""},
		{"refused for its own hold", plain, held, Errors, OutcomeOK, "", "", ""},
		{"released while its process took another owner's acquire back", plain, beside("info err=unknown"), Errors, OutcomeOK, "", "", ""},
		{"released while its process took another owner's acquire back, who asks again", plain,
			strings.Replace(beside("info err=unknown"), "450 ", "440   c1 acquire lease=1000\n450 ", 1) + "\n503 server n1 EVAL by=c1 holder=c1 ttl=1000\n504 c1 ok count=1", Errors, OutcomeOK, "", "", ""},
		{"released with the hold of another owner of its process", plain, beside("ok count=1"), Errors, Violated, "", "what it removed at 0.501 s was the hold of client-1/1", "server log"},
		{"refused for its own place in the queue", fair, place("info err=unknown"), Errors, OutcomeOK, "", "", ""},
		{"refused after it has left the queue", fair, place("fail err=busy"), Errors, Violated, "", "the servers had granted it to the same owner at 3.101 s", "server log"},
		{"refused for its own hold, and reentrant", leased(nil), held, Errors, Violated, "", "nobody else asked", "server log"},
		{"refused as a lease ran out", leased(nil), `
			0     c1 takes lease=1000
			1003  c2 acquire lease=1000; 1004 fail err=busy
			1005  server n1 cause=expiry`, Errors, OutcomeOK, "", "", ""},
		{"refused while another asks", group, free("90 c2 acquire lease=1000 wait=500\n95 server n1 EVAL by=c2 holder=c2 ttl=1000"), Errors, OutcomeOK, "", "", ""},
	})
}
