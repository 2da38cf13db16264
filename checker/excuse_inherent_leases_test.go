package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestInherentLeases(t *testing.T) {
	takesBack := leased(func(h *history.Header) { h.Claims.TakesBack = true })
	forever := leased(func(h *history.Header) { h.Claims.Lease = false })
	waits := leased(func(h *history.Header) { h.Claims.Handoff = 500 * millisecond })
	const lateToNobody = take + `
		5    c2 acquire lease=1000 wait=-1
		6    c1 gives
		9    c4 takes lease=3000
		12   c3 acquire lease=3000 wait=400
		13   fault start 1 partition c3 n1
		20   fault start 2 crash c4
		20   c4 crash
		410  c3 info err=unknown
		3010 server n1 cause=expiry
		3020 fault end 1 partition c3 n1
		`
	const askedAgainLate = "4200 c1 acquire wait=100\n4300 c1 info err=unknown\n4500 fault end 1 partition c1 n1\n4501 server n1 SET by=c1 holder=c1 ttl=-1\n9000 end keys=stock"
	const heldForEver = "0 c1 acquire\n1 server n1 SET by=c1 holder=c1 ttl=-1\n2 c1 ok count=1\n3 fault start 1 hold-reply c1 n1\n"
	const lateRelease = "10 c1 release\n2000 c2 acquire wait=9000\n"
	const releasedLate = "5010 server n1 DEL by=c1\n5011 c1 ok\n5012 server n1 SET by=c2 holder=c2 ttl=-1\n5013 c2 ok count=1\n5014 c2 release\n5015 server n1 DEL by=c2\n5016 c2 ok"
	const afterNobody = `
		6025 server n1 SET by=c2 holder=c2 ttl=1000
		6026 c2 ok count=1
		6027 c2 gives`
	const nestedLonger = take + `
		3    server n1r1 cause=replication holder=c1 ttl=998
		10   c1 acquire lease=9000
		11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
		12   c1 ok count=2
		`
	servedAgain := func(fault, node string) string {
		if fault != "" {
			fault = "\n20 " + fault
		}
		return "10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + fault +
			"\n30 c2 acquire lease=1000\n31 server " + node + " EVAL by=c2 holder=c1 ttl=1000 role=primary\n40 c2 fail err=busy"
	}
	nestedOnThree := leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = 3, 2, true })
	const thriceOnThree = `
		0    c1 acquire lease=3000
		1    server n1 SET by=c1 holder=c1 ttl=3000
		1    server n2 SET by=c1 holder=c1 ttl=3000
		1    server n3 SET by=c1 holder=c1 ttl=3000
		2    c1 ok count=1
		100  c1 acquire lease=1000
		101  server n1 EVAL by=c1 holder=c1 count=2 ttl=2900
		101  server n2 EVAL by=c1 holder=c1 count=2 ttl=2900
		102  c1 ok count=2
		T1   c1 acquire lease=3000
		T2   server n3 EVAL by=c1 holder=c1 count=2 ttl=LEFT
		T3   server n1 EVAL by=c1 holder=c1 count=3 ttl=3000
		T3   server n2 EVAL by=c1 holder=c1 count=3 ttl=3000
		T3   server n3 EVAL by=c1 holder=c1 count=3 ttl=3000
		1106 c1 ok count=3
		1200 c1 release
		1201 server n1 DEL by=c1
		1201 server n2 DEL by=c1
		1201 server n3 DEL by=c1
		1202 c1 ok`
	const keptBack = "1 fault start 1 hold-request c1 n1\n2 c1 acquire lease=1000 wait=100\n"
	const takenBeside = "50 server n1r1 EVAL by=c1 holder=c1 ttl=1000 role=primary\n51 c1 ok count=1\n60 c1 release\n61 server n1r1 EVAL by=c1 role=primary\n62 c1 ok\n"
	const keptBackArrives = "300 fault end 1 hold-request c1 n1\n300 server n1 EVAL by=c1 holder=c1 ttl=1000\n1301 server n1 cause=expiry"
	const handedToItself = `
		0    fault start 1 delay c1 n1
		1    c1 acquire lease=1000 wait=400
		401  c1 info err=unknown
		402  c1 acquire lease=1000 wait=2000
		600  fault end 1 delay c1 n1
		601  server n1 EVAL by=c1 holder=c1 ttl=1000
		603  server n1 EVAL by=c1 holder=c1 ttl=500
		604  server n1 EVAL by=c1 holder=c1 ttl=1000
		605  c1 ok count=1
		700  c1 release
		701  server n1 EVAL by=c1
		702  c1 ok`
	testInherent(t, []inherentTest{
		{"a promoted replica hands the lock to an owner that had its turn", Count, fair,
			take + servedAgain("fault start 1 failover n1", "n1r1"), "never heard that client-1/1 had had its turn",
			fair, take + servedAgain("", "n1")},
		{"a clock ended the lease early", Lease, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry\n300 c1 release\n301 c1 fail err=lost", "moved the clock of node-1",
			plain, take + "101 server n1 cause=expiry\n300 c1 release\n301 c1 fail err=lost"},
		{"a clock ended the lease early, within the drift of the lock", Lease, drifting, // not a violation at all
			take + "100 fault start 1 clock-jump n1\n600 server n1 cause=expiry\n700 c1 release\n701 c1 fail err=lost", "ok",
			drifting, take + "600 server n1 cause=expiry\n700 c1 release\n701 c1 fail err=lost"},
		{"a shorter acquire reaches one server late, when the next one has begun", Lease, nestedOnThree, // not a violation at all
			strings.NewReplacer("T1", "103", "T2", "104", "T3", "105", "LEFT", "2897").Replace(thriceOnThree), "ok",
			nestedOnThree, strings.NewReplacer("T1", "1103", "T2", "1104", "T3", "1105", "LEFT", "1897").Replace(thriceOnThree)},
		{"a server grants a request at the end of a partition, and nobody hears of it", Progress, waits, // not a violation at all
			lateToNobody + "3021 server n1 SET by=c3 holder=c3 ttl=3000\n6021 server n1 cause=expiry" + afterNobody, "ok",
			waits, lateToNobody + afterNobody},
		{"an acquire finds its own hold from before", Lease, plain, // not a violation at all
			"0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 fault start 1 partition c1 n1\n50 c1 info err=unknown\n60 fault end 1 partition c1 n1\n400 c1 acquire lease=1000\n401 server n1 PEXPIRE by=c1 holder=c1 ttl=1000\n402 c1 ok count=1\n500 c1 release\n501 server n1 DEL by=c1\n502 c1 ok", "ok",
			plain,
			"0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 fault start 1 partition c1 n1\n50 c1 info err=unknown\n60 fault end 1 partition c1 n1\n400 c1 acquire lease=1000\n402 c1 ok count=1\n500 c1 release\n501 server n1 DEL by=c1\n502 c1 ok"},
		{"a client took an unheard grant back, and handed the lock to the next acquire of the owner", Lease, fair, // not a violation at all
			handedToItself, "ok",
			fair, strings.Replace(handedToItself, "401  c1 info err=unknown", "401  c1 fail err=busy", 1)},
		{"without a lease a dead holder holds for ever", Progress, forever,
			"0 c1 acquire\n1 server n1 SET by=c1 holder=c1 ttl=-1\n2 c1 ok count=1\n3 fault start 1 crash c1\n3 c1 crash\n10 c2 acquire wait=9000\n9010 c2 fail err=busy\n9011 end keys=stock", "died at 0.003 s with the lock, which has no lease",
			plain, "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=-1\n2 c1 ok count=1\n3 fault start 1 crash c1\n3 c1 crash\n10 c2 acquire lease=1000 wait=9000\n9010 c2 fail err=busy\n9011 end keys=stock"},
		{"without a lease a late request holds for ever, though its owner has asked again", Cleanup, forever,
			"0 fault start 1 partition c1 n1\n1 c1 acquire wait=100\n101 c1 info err=unknown\n" + askedAgainLate, "the acquire of client-1/1 ended at 0.101 s without a grant",
			forever, "0 fault start 1 partition c1 n1\n" + askedAgainLate},
		{"without a lease a release that waits for answers keeps the lock", Progress, forever,
			heldForEver + lateRelease + "5000 fault end 1 hold-reply c1 n1\n" + releasedLate, "a fault held up the release of client-1/1",
			forever, heldForEver + "5 fault end 1 hold-reply c1 n1\n" + lateRelease + releasedLate},
		{"a count that a server lost", Count, plain,
			take + "10 c1 acquire lease=1000\n12 c1 ok count=2\n20 fault start 1 failover n1\n30 c1 release\n31 c1 ok", "may have undone",
			plain, take + "10 c1 acquire lease=1000\n12 c1 ok count=2\n20 fault start 1 delete-key n2\n30 c1 release\n31 c1 ok"},
		{"a server forgot a request that was given up on its way", Count, takesBack,
			keptBack + "102 c1 fail err=busy\n200 fault start 2 delete-key n1\n" + keptBackArrives, "kept a request of client-1/1 back until 0.300 s",
			takesBack, "0 fault start 2 delete-key n1\n" + keptBack + "102 c1 fail err=busy\n" + keptBackArrives},
		{"a late request reaches the old primary of a fork", Count, plain,
			keptBack + "3 fault start 2 failover n1\n" + takenBeside + keptBackArrives, "never heard of what another server had carried out",
			plain, keptBack + "3 fault start 2 reset c1 n1\n3 fault end 2 reset c1 n1\n" + strings.ReplaceAll(takenBeside, "n1r1", "n1") + keptBackArrives},
		{"a request that was given up arrives after half a minute", Count, takesBack,
			keptBack + "102 c1 fail err=busy\n" + strings.NewReplacer("300 ", "30300 ", "1301 ", "31301 ").Replace(keptBackArrives), "for 30.198 s after its acquire had ended",
			takesBack, keptBack + "102 c1 fail err=busy\n" + strings.NewReplacer("300 ", "20300 ", "1301 ", "21301 ").Replace(keptBackArrives)},
		{"a promoted server never heard of the longer lease of a nested hold", Lease, plain,
			nestedLonger + "100 fault start 1 failover n1\n200 c1 release\n201 server n1r1 EVAL by=c1 holder=c1 count=1 ttl=700 role=primary\n202 c1 ok count=1", "may have undone",
			plain, nestedLonger + "200 c1 release\n201 server n1 EVAL by=c1 holder=c1 count=1 ttl=700\n202 c1 ok count=1"},
	})
}
