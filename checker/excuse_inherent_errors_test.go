package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestInherentErrors(t *testing.T) {
	total := leased(func(h *history.Header) { h.Order = history.TotalOrder })
	near := leased(func(h *history.Header) { h.Order, h.Latency = history.TotalOrder, millisecond })
	planned := total
	planned.Faults = []history.PlannedFault{{ID: 1, Fault: "failover", Traits: history.Traits{Instant: true, Promotes: true, LosesWrites: true}}}
	longTake := strings.ReplaceAll(take, "1000", "10000")
	const atPromoted = "200 c2 acquire lease=1000\n201 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary\n202 c2 ok count=1\n" +
		"310 c2 release\n311 server n1r1 DEL by=c2 role=primary\n312 c2 ok"
	refusedWith := func(fault string) string {
		return take + "50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok\n100 c1 acquire lease=1000\n101 server n1 SET by=c1 holder=c1 ttl=1000\n" + fault + "200 c1 fail err=busy\n300 c2 acquire lease=1000\n301 c2 fail err=busy"
	}
	const repeats = "15 fault start 1 hold-reply c1 n1\n20 c1 release\n"
	const isRepeated = "30 c1 info err=unknown\n40 fault start 2 clock-jump n1\n41 server n1 cause=expiry\n50 c1 release\n60 c1 ok count=1"
	const laterHold = "100 c2 acquire lease=1000\n101 c2 ok count=1\n102 c2 release\n103 c2 ok"
	const onThreeLater = "2000 c2 acquire lease=1000\n2001 server n1 SET by=c2 holder=c2 ttl=1000\n2001 server n2 SET by=c2 holder=c2 ttl=1000\n2002 c2 ok count=1\n" +
		"2010 c2 release\n2011 server n1 DEL by=c2\n2011 server n2 DEL by=c2\n2012 c2 ok"
	testInherent(t, []inherentTest{
		{"a release tells what became of the one before, and a clock ended the hold since", Errors, plain, // not a violation of errors
			takenAgain + repeats + "21 server n1 EVAL by=c1 holder=c1 count=1 ttl=990\n" + isRepeated, "ok",
			plain, takenAgain + repeats + isRepeated},
		{"a server lost the hold, its owner is told, and the replica with it answers later", Errors, total, // not a violation of errors
			takenAgain + onReplica + emptied + "120 c1 lost\n" + givesBackThere, "ok",
			total, takenAgain + onReplica + "120 c1 lost\n" + givesBackThere},
		{"a release of unknown outcome, as too few servers were in reach", Errors, quorumTotal, // not a violation at all
			onThree + "10 fault start 1 partition c1 n2\n20 c1 release\n21 server n1 DEL by=c1\n30 c1 info err=unknown\n" + onThreeLater, "ok",
			quorumTotal, onThree + "10 fault start 1 partition c1 n3\n20 c1 release\n21 server n1 DEL by=c1\n21 server n2 DEL by=c1\n30 c1 info err=unknown\n" + onThreeLater},
		{"a release of unknown outcome, and a server lost the hold meanwhile", Errors, quorumTotal, // not a violation at all
			onThree + "10 fault start 1 partition c1 n2\n20 fault start 2 delete-key n1\n20 c1 release\n21 server n1 cause=fault\n30 c1 info err=unknown\n" + onThreeLater, "ok",
			quorumTotal, onThree + "10 fault start 1 partition c1 n3\n20 fault start 2 delete-key n3\n20 c1 release\n21 server n1 DEL by=c1\n22 server n2 DEL by=c1\n30 c1 info err=unknown\n" + onThreeLater},
		{"a release asks again, and then nothing is left", Errors, total, // not a violation at all
			longTake + "10 fault start 1 hold-request c1 n1\n20 c1 release\n30 c1 info err=unknown\n40 c1 release\n50 server n1 DEL by=c1\n60 c1 info err=unknown\n70 c1 release\n72 c1 fail err=not-held", "ok",
			total, longTake + "10 fault start 1 hold-request c1 n1\n20 c1 release\n30 c1 info err=unknown\n40 c1 release\n60 c1 info err=unknown\n70 c1 release\n72 c1 fail err=not-held"},
		{"a server forgot an inner release", Errors, plain,
			takenAgain + "100 c1 release\n101 server n1 EVAL by=c1 holder=c1 count=1 ttl=910\n101 fault start 1 node-restart n1\n101 server n1 cause=restart\n110 fault end 1 node-restart n1\n120 c1 fail err=not-held", "made the servers forget it",
			plain, takenAgain + "100 c1 release\n101 server n1 EVAL by=c1 holder=c1 count=1 ttl=910\n101 fault start 1 reset c1 n1\n110 fault end 1 reset c1 n1\n120 c1 fail err=not-held"},
		{"a server forgot a release, and the owner is told that it holds nothing", Errors, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n120 c1 fail err=not-held", "made the servers forget it",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997 role=replica\n100 c1 release\n101 server n1 DEL by=c1\n102 server n1r1 cause=replication role=replica\n103 fault start 1 failover n1\n120 c1 fail err=not-held"},
		{"a failover forgets a release, and its replica had not heard of the grant", Errors, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 failover n1\n120 c1 fail err=not-held", "made the servers forget it",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997 role=replica\n100 c1 release\n101 server n1 DEL by=c1\n102 server n1r1 cause=replication role=replica\n" +
				"103 fault start 1 failover n1\n120 c1 fail err=not-held"},
		{"a replica kept the hold, and became primary later", Errors, total, // not a violation at all
			take + "3 server n1r1 cause=replication holder=c1 ttl=997\n100 c1 release\n101 server n1 DEL by=c1\n102 c1 ok\n110 c1 acquire lease=1000\n200 fault start 1 failover n1\n" +
				"210 server n1r1 SET by=c1 role=primary holder=c1 ttl=1000\n212 c1 ok count=1\n300 c1 release\n301 server n1r1 DEL by=c1 role=primary\n302 c1 ok", "ok",
			total, take + "100 c1 release\n102 c1 ok\n200 c1 acquire lease=1000\n210 server n1 SET by=c1 holder=c1 ttl=1000\n212 c1 ok count=1\n300 c1 release\n301 server n1 DEL by=c1\n302 c1 ok"},
		{"a try without an answer at its end", Errors, near, // not a violation at all
			"0 c1 acquire lease=1000\n51 c1 info err=unknown\n" + laterHold, "ok",
			near, "0 c1 acquire lease=1000\n30 c1 info err=unknown\n" + laterHold},
		{"the old primary kept a hold that the promoted one never had", Errors, total, // not a violation of errors
			longTake + "100 fault start 1 failover n1\n120 c1 lost\n130 c1 release\n131 c1 fail err=lost\n" + atPromoted, "ok",
			planned, longTake + "3 server n1r1 cause=replication holder=c1 ttl=9997 role=replica\n100 fault start 1 failover n1\n" +
				"110 server n1r1 PEXPIRE by=c1 holder=c1 ttl=10000 role=primary\n180 c1 lost\n190 c1 release\n191 c1 fail err=lost\n199 server n1r1 DEL by=c1 role=primary\n" + atPromoted},
		{"the old primary granted the lock, and the promoted one was busy", Errors, total, // not a violation at all
			refusedWith("101 fault start 1 failover n1\n"), "ok",
			total, refusedWith("101 fault start 1 reset c1 n1\n101 fault end 1 reset c1 n1\n")},
		{"an unknown outcome", Errors, total, // not a violation at all: the witness has another
			take + "10 fault start 1 partition c1 n1\n20 c1 release\n30 c1 info err=unknown\n40 fault end 1 partition c1 n1\n50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok", "ok",
			total, take + "20 c1 release\n30 c1 info err=unknown\n50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok"},
	})
}
