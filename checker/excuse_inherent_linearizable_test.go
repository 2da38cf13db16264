package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestInherentLinearizable(t *testing.T) {
	once := leased(func(h *history.Header) { h.Claims.Reentrant = false })
	inSeconds := leased(func(h *history.Header) { h.Claims.LeaseUnit = second })
	slow := leased(func(h *history.Header) {
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "clock-drift", Traits: history.Traits{Lasts: true, MovesClock: true, ClockRate: 0.5}}}
	})
	slowOnce := slow
	slowOnce.Claims.Reentrant = false
	setBack := leased(func(h *history.Header) {
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "clock-jump", Traits: history.Traits{Instant: true, MovesClock: true, ClockJump: -int64(9 * second)}}}
	})
	slowInSeconds := slow
	slowInSeconds.Claims.LeaseUnit = second
	const forkedUnseen = "\n100 fault start 1 failover n1\n150 c1 ok\n200 c1 acquire lease=9000\n202 c1 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok"
	const passedEnd = take + "1001 server n1 cause=expiry\n1100 fault start 1 clock-jump n1\n"
	const afterPassedEnd = "\n1500 c1 release\n1501 server n1 EVAL by=c1\n1502 c1 ok"
	const keptOnSlowClock = `
		0    c1 acquire lease=1000
		2    c1 ok count=1
		10   fault start 1 clock-drift n1
		20   fault start 2 reset c1 n1
		20   c1 release
		21   c1 info err=unknown
		100  c1 acquire lease=1000
		101  c1 fail err=busy
		`
	const deletedFromSecond = `
		100  fault start 1 delete-key n2
		100  server n2 cause=fault
		`
	const thenFromFirst = `
		200  c2 acquire lease=1000
		201  server n2 SET by=c2 holder=c2 ttl=1000
		201  server n3 SET by=c2 holder=c2 ttl=1000
		202  c2 ok count=1
		250  fault start 2 delete-key n1
		250  server n1 cause=fault
		300  c1 release
		301  c1 fail err=lost`
	const releasedBefore = "250 fault start 1 failover n1\n300 c3 acquire lease=1000\n301 c3 fail err=busy\n310 c2 release\n311 c2 fail err=lost"
	const lateGrant = "0 c2 acquire lease=1000\n1 c2 ok count=1\n5 c1 acquire lease=1000 wait=900\n450 c2 release\n451 c2 ok\n500 c1 ok count=1 "
	const afterIt = "\n1200 c1 release\n1201 c1 fail err=not-held"
	const takenAfterIt = "\n1050 c2 acquire lease=1000\n1052 c2 ok count=1" + afterIt + "\n1300 c2 release\n1301 c2 ok"
	const forked = take + `
		3    server n1r1 cause=replication holder=c1 ttl=997
		50   c1 release
		51   server n1 DEL by=c1
		51   server n1r1 cause=replication
		52   c1 ok
		100  fault start 1 failover n1
		200  c1 acquire lease=1000
		201  server n1r1 SET by=c1 holder=c1 ttl=1000 role=primary
		202  c1 ok count=1
		210  c3 takes lease=1000
		`
	const forkedDone = `
		300  c1 release
		301  server n1r1 DEL by=c1 role=primary
		302  c1 ok
		320  c1 acquire lease=1000
		321  server n1r1 SET by=c1 holder=c1 ttl=1000 role=primary
		322  c1 ok count=1
		340  c1 release
		341  server n1r1 DEL by=c1 role=primary
		342  c1 ok
		360  c4 acquire lease=1000
		361  c4 fail err=busy
		400  c3 gives`
	const unheard = `
		0    c1 acquire lease=1000
		1    server n1 SET by=c1 holder=c1 ttl=1000
		2    fault start 2 crash c1
		2    c1 crash
		50   c3 acquire lease=1000
		51   c3 fail err=busy
		`
	const givesOneBack = "110 c1 release\n111 server n1 EVAL by=c1 holder=c1 count=1 ttl=400 "
	const thenExpires = "\n112 c1 ok count=1\n510 server n1 cause=expiry\n520 c1 release\n521 c1 fail err=lost"
	const comesBackShort = "120 server n1 cause=restart holder=c1 ttl=11\n130 server n1 cause=expiry\n200 c1 release\n201 c1 fail err=lost"
	const slowClock = "0 c1 acquire lease=700\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 c1 ok count=1\n100 fault start 1 clock-drift n1\n1200 fault end 1 clock-drift n1\n" +
		"1300 c1 release\n1301 server n1 DEL by=c1 was=c1\n1302 c1 ok"
	const askedAgain = "0 c1 acquire lease=1000 wait=900\n1 server n1 SET by=c1 holder=c1 ttl=1000\n"
	const askedAgainLasts = "702 c1 ok count=1\n1500 c1 release\n1501 server n1 DEL by=c1 was=c1\n1502 c1 ok"
	const handedOn = take + `
		5    fault start 1 node-restart n1r1
		460  c2 acquire lease=4000 wait=2000
		720  c1 release
		725  server n1 EVAL by=c1 holder=c2 ttl=600
		726  c1 ok
		`
	const handedOnDies = `
		729  c2 ok count=1
		730  fault start 2 crash c2
		730  c2 crash
		1350 c1 acquire lease=4000 wait=1700
		3050 c1 fail err=busy`
	const handedAnew = take + `
		3    server n1r1 cause=replication holder=c1 ttl=997 role=replica
		50   c2 acquire lease=20000 wait=900
		100  c1 release
		101  server n1 EVAL by=c1 holder=c2 ttl=20000
		102  c2 ok count=1
		103  fault start 1 failover n1
		104  server n1r1 EVAL by=c1 holder=c2 ttl=19000 role=primary
		105  c2 lost
		106  c2 release
		107  c2 fail err=lost
		108  c1 ok
		19104 server n1r1 cause=expiry role=primary`
	const lateReply = "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n50 c1 ok count=1\n"
	// The clock of a replica is behind, so it has the hold of c2 for longer.
	const behind = `
		203  server n1r1 cause=replication holder=c2 ttl=3000 role=replica
		300  c1 release
		301  c1 fail err=lost
		1201 server n1 cause=expiry
		1202 c3 takes lease=1000
		`
	const behindDone = `
		1210 fault end 2 node-crash n1r1
		1500 server n1r1 cause=replication holder=c3 ttl=3000 role=replica
		1510 c2 release
		1511 c2 fail err=not-held
		1520 c3 gives`
	const jumped = "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry\n110 c1 release\n111 c1 fail err=lost\n"
	const secondDone = "310 c2 release\n311 server n1 DEL by=c2\n312 c2 ok"
	const lateOnThird = `
		0    c1 acquire lease=9000
		1    server n1 SET by=c1 holder=c1 ttl=9000
		2    server n2 SET by=c1 holder=c1 ttl=9000
		3    c1 ok count=1
		`
	const lateOnThirdDone = `
		200  c2 acquire lease=1000
		201  server n2 SET by=c2 holder=c2 ttl=1000
		202  server n3 SET by=c2 holder=c2 ttl=1000
		203  c2 ok count=1
		300  c2 release
		301  server n2 DEL by=c2
		302  server n3 DEL by=c2
		303  c2 ok
		400  server n3 SET by=c1 holder=c1 ttl=9000
		500  c1 release
		501  server n1 DEL by=c1
		502  server n3 DEL by=c1
		503  c1 fail err=lost`
	testInherent(t, []inherentTest{
		{"enough of a quorum forgot the hold, and more did later", Linearizable, quorum,
			onThree + deletedFromSecond + thenFromFirst, "deleted from node-2",
			quorum, onThree + strings.Replace(deletedFromSecond, "cause=fault", "DEL by=c2", 1) + thenFromFirst},
		{"a request that came late put a lost hold on one more server", Linearizable, quorumTotal,
			lateOnThird + "100 fault start 1 node-restart n2\n101 server n2 cause=restart\n110 fault end 1 node-restart n2\n" + lateOnThirdDone, "node-2 came back without the hold",
			quorumTotal, lateOnThird + "100 fault start 1 reset c2 n2\n101 server n2 DEL by=c2\n" + lateOnThirdDone},
		{"a hold that a server lost is free", Linearizable, plain,
			take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + bothDone, "from outside",
			plain, take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + strings.Replace(bothDone, "c1 fail err=lost", "c1 ok", 1)},
		{"a hold that was taken again and then deleted is free", Linearizable, plain,
			takenAgain + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + bothDone, "from outside",
			plain, takenAgain + "100 fault start 1 delete-key n2\n100 server n2 cause=fault" + takenByOther + bothDone},
		{"a clock ends a lease after an inner release, which left the lease alone", Linearizable, plain,
			takenAgain + "100 fault start 1 clock-jump n1\n" + givesOneBack + "wasttl=400" + thenExpires, "the clock of node-1 ended the lease 501 ms early",
			plain, takenAgain + "100 fault start 1 clock-jump n1\n" + givesOneBack + thenExpires},
		{"a clock runs ahead, and the server comes back with the little that is left of the lease", Linearizable, plain,
			take + "100 fault start 1 clock-jump n1\n110 fault start 2 node-restart n1\n120 fault end 2 node-restart n1\n" + comesBackShort, "the clock of node-1 ended the lease 871 ms early",
			plain, take + "110 fault start 2 node-restart n1\n120 fault end 2 node-restart n1\n" + comesBackShort},
		{"a server lost the hold, and its replica took its place with it", Linearizable, plain,
			takenAgain + onReplica + emptied + givesBackThere, "came back without the hold at 0.110 s",
			plain, takenAgain + onReplica + givesBackThere},
		{"a server lost the hold, and its owner dies when it notices that", Linearizable, telling,
			takeRenewed + emptied + "120 c1 lost\n120 fault start 2 crash c1\n120 c1 crash", "came back without the hold at 0.110 s",
			telling, takeRenewed + "120 c1 lost\n120 fault start 2 crash c1\n120 c1 crash"},
		{"a hold whose grant arrived late lasts until its server lost it", Linearizable, plain,
			lateReply + "90 c2 acquire lease=1000\n91 c2 fail err=busy\n" + jumped, "the clock of node-1 ended the lease",
			plain, lateReply + jumped + "150 c2 acquire lease=1000\n151 c2 fail err=busy"},
		{"a server forgot a release that it had carried out", Linearizable, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n120 c1 fail err=lost", "carried out the release of client-1/1 at 0.101 s",
			plain, take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 reset c1 n1\n110 fault end 1 reset c1 n1\n120 c1 fail err=lost"},
		{"another server took the place, and never had the hold", Linearizable, plain,
			take + "100 fault start 1 failover n1\n150 c1 release\n151 c1 fail err=lost", "took the place of node-1 at 0.100 s",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997 role=replica\n100 fault start 1 failover n1\n150 c1 release\n151 c1 fail err=lost"},
		{"another server took the place, and made the replica that had the hold drop it", Linearizable, plain,
			take + "3 server n1r2 cause=replication holder=c1 ttl=997 role=replica\n100 fault start 1 failover n1\n130 server n1r2 cause=replication role=replica\n150 c1 release\n151 c1 fail err=lost", "took the place of node-1 at 0.100 s",
			plain, take + "3 server n1r2 cause=replication holder=c1 ttl=997 role=replica\n100 fault start 1 failover n1\n150 c1 release\n151 c1 fail err=lost"},
		{"a clock that was set back kept the hold", Linearizable, plain,
			take + "100 fault start 1 clock-jump n1\n1500 c1 release\n1501 server n1 DEL by=c1 was=c1\n1502 c1 ok", "it kept the hold of client-1/1 for longer than its lease",
			plain, take + "1500 c1 release\n1501 server n1 DEL by=c1 was=c1\n1502 c1 ok"},
		{"a clock that was set back kept a hold that its owner counted as over", Linearizable, plain,
			take + "990 c1 release\n991 c1 fail err=lost\n993 fault start 1 clock-jump n1\n1500 c2 acquire lease=1000 wait=0\n1502 c2 fail err=busy\n1900 server n1 cause=expiry",
			"it kept the hold of client-1/1 for longer than its lease", plain,
			take + "990 c1 release\n991 c1 fail err=lost\n1001 server n1 cause=expiry\n1500 c2 acquire lease=1000 wait=0\n1502 c2 fail err=busy"},
		{"a slow clock kept a hold in the units of the lock", Linearizable, slowInSeconds,
			slowClock, "it kept the hold of client-1/1 for longer than its lease",
			slow, slowClock},
		{"a clock that was set back may have kept the hold, and nobody saw it", Linearizable, setBack,
			"0 c1 acquire lease=1000\n2 c1 ok count=1\n100 fault start 1 clock-jump n1\n1500 c1 release\n1502 c1 ok", "may have kept the hold of client-1/1",
			plain, "0 c1 acquire lease=1000\n2 c1 ok count=1\n1100 fault start 1 clock-jump n1\n1500 c1 release\n1502 c1 ok"},
		{"an end that had passed has not passed any more", Linearizable, plain,
			passedEnd + "1100 server n1 cause=expiry holder=c1 ttl=9000" + afterPassedEnd, "it kept the hold of client-1/1",
			plain, passedEnd + afterPassedEnd},
		{"nobody saw the server that answered", Linearizable, plain,
			"0 fault start 1 failover n1\n100 c1 acquire lease=1000\n102 c1 ok count=1\n200 c2 acquire lease=1000\n202 c2 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok", "two servers may have answered",
			plain, "0 fault start 1 reset c1 n1\n100 c1 acquire lease=1000\n102 c1 ok count=1\n200 c2 acquire lease=1000\n202 c2 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok"},
		{"nobody saw the server that answered, and a release is under way at the fault", Linearizable, plain,
			"0 c1 acquire lease=9000\n2 c1 ok count=1\n10 c1 release\n20 c2 acquire lease=9000\n22 c2 ok count=1" + forkedUnseen, "two servers may have answered",
			plain, "0 c1 acquire lease=9000\n2 c1 ok count=1\n20 c2 acquire lease=9000\n22 c2 ok count=1\n50 c1 release" + forkedUnseen},
		{"a hold in the units of the lock", Linearizable, inSeconds, // not a violation at all
			"0 c1 acquire lease=700\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 c1 ok count=1\n800 c2 acquire lease=700\n801 c2 fail err=busy\n900 c1 release\n901 server n1 DEL by=c1\n902 c1 ok", "ok",
			plain, "0 c1 acquire lease=700\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 c1 ok count=1\n800 c2 acquire lease=700\n801 c2 fail err=busy\n900 c1 release\n901 server n1 DEL by=c1\n902 c1 ok"},
		{"an acquire asked again, and so made its hold longer", Linearizable, plain, // not a violation at all
			askedAgain + "700 server n1 PEXPIRE by=c1 holder=c1 ttl=1000\n" + askedAgainLasts, "ok",
			plain, askedAgain + askedAgainLasts},
		{"an acquire was handed the lock, and then asked for the whole lease", Linearizable, fair, // not a violation at all
			handedOn + "728 server n1 EVAL by=c2 holder=c2 ttl=4000" + handedOnDies, "ok",
			fair, handedOn + handedOnDies},
		{"a late release handed the lock to the same owner once more", Linearizable, fair,
			handedAnew, "another server took the place of node-1 at 0.103 s, and never had the hold",
			fair, strings.Replace(handedAnew, "104  server n1r1 EVAL by=c1", "104  server n1r1 EVAL by=c2", 1)},
		{"two servers answered, and each is right by itself", Linearizable, plain,
			forked + forkedDone, "both answered after the fault at 0.100 s",
			plain, forked + "250 c2 acquire lease=1000\n251 server n1 SET by=c2 holder=c2 ttl=1000\n252 c2 ok count=1\n260 c2 release\n261 server n1 DEL by=c2\n262 c2 ok" +
				strings.Replace(forkedDone, "401  server n1 DEL by=c3\n\t\t402  c3 ok", "402  c3 fail err=not-held", 1)},
		{"a hold that its owner never heard of was lost", Linearizable, plain,
			unheard + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + takenByOther + secondDone, "the clock of node-1 ended the lease",
			plain, unheard + "101 server n1 DEL by=c2" + takenByOther + secondDone},
		{"a replica that stops takes nobody's place", Linearizable, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + takenByOther + behind + "1206 fault start 2 node-crash n1r1\n" + behindDone, "the clock of node-1 ended the lease",
			plain, take + "101 server n1 DEL by=c2" + takenByOther + behind + "1206 fault start 2 node-crash n1r1\n" + behindDone},
		{"a user stopped, and its hold ended before its release", Linearizable, careful,
			take + "980 c1 stopped\n980 c1 release\n985 fault start 1 clock-jump n1\n985 server n1 cause=expiry\n986 c1 fail err=not-held", "the clock of node-1 ended the lease",
			careful, take + "980 c1 stopped\n980 c1 release\n985 server n1 cause=expiry\n986 c1 fail err=not-held"},
		{"a release of unknown outcome, and a lease on a slow clock", Linearizable, slowOnce,
			keptOnSlowClock + "1500 c1 acquire lease=1000\n1501 c1 fail err=busy", "a fault moved the clock of a server at 0.010 s",
			slowOnce, keptOnSlowClock + "2500 c1 acquire lease=1000\n2501 c1 fail err=busy"},
		{"a promoted server never heard of a release", Linearizable, plain,
			take + "3 server n1r1 cause=replication holder=c1 ttl=997\n10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + takenByOther + releasedBefore, "may have undone",
			plain, take + "10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + takenByOther + releasedBefore},
		{"the grant named an end of its hold that is over", Linearizable, once, // not a violation at all
			lateGrant + "until=1000" + afterIt, "ok",
			once, lateGrant + afterIt},
		{"the grant named an end of its hold, and then another owner got the lock", Linearizable, once, // not a violation at all
			lateGrant + "until=1000" + takenAfterIt, "ok",
			once, lateGrant + "until=1100" + takenAfterIt},
		{"a hold that was lost while its dead owner took it again", Linearizable, plain,
			take + "100 c1 acquire lease=1000\n101 server n1 EVAL by=c1 holder=c1 count=2 ttl=1000\n101 fault start 1 crash c1\n101 c1 crash\n150 fault start 2 delete-key n1\n150 server n1 cause=fault" + takenByOther + secondDone, "from outside",
			plain, take + "100 c1 acquire lease=1000\n101 server n1 EVAL by=c1 holder=c1 count=2 ttl=1000\n101 fault start 1 crash c1\n101 c1 crash\n150 server n1 DEL by=c2" + takenByOther + secondDone},
	})
}
