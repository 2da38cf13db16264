package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Each line of the table has a witness, in which a lock that does its best shows a
// violation. Each has a counter-witness, too: another lock shows much the same there, and
// could have avoided it.
func TestInherent(t *testing.T) {
	plain := leased(nil)
	of := func(change func(*history.Header)) history.Header { return leased(change) }
	telling := of(func(h *history.Header) {
		h.Claims.Renewal, h.Claims.LostSign, h.Claims.RenewEvery = true, true, 333*millisecond
	})
	once := of(func(h *history.Header) { h.Claims.Reentrant = false })
	total := of(func(h *history.Header) { h.Order = history.TotalOrder })
	takesBack := of(func(h *history.Header) { h.Claims.TakesBack = true })
	near := of(func(h *history.Header) { h.Order, h.Latency = history.TotalOrder, millisecond })
	careful := of(func(h *history.Header) { h.User = history.Careful })
	quorum := of(func(h *history.Header) { h.Claims.Quorum, h.Claims.Nodes = 2, 3 })
	quorumTotal := of(func(h *history.Header) { h.Claims.Quorum, h.Claims.Nodes, h.Order = 2, 3, history.TotalOrder })
	acks := of(func(h *history.Header) { h.Claims.Acks = 1 })
	forever := of(func(h *history.Header) { h.Claims.Lease = false })
	guarded := of(func(h *history.Header) { h.Resource = &history.Resource{Initial: 10} })
	fenced := of(func(h *history.Header) {
		h.Claims.Fencing = true
		h.Resource = &history.Resource{Initial: 10, Fenced: true, FencesReads: true}
	})
	inSeconds := of(func(h *history.Header) { h.Claims.LeaseUnit = second })
	slow := of(func(h *history.Header) {
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "clock-drift", Traits: history.Traits{Lasts: true, MovesClock: true, ClockRate: 0.5}}}
	})
	slowOnce := slow
	slowOnce.Claims.Reentrant = false
	setBack := of(func(h *history.Header) {
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "clock-jump", Traits: history.Traits{Instant: true, MovesClock: true, ClockJump: -int64(9 * second)}}}
	})
	slowInSeconds := slow
	slowInSeconds.Claims.LeaseUnit = second
	fair := of(func(h *history.Header) { h.Claims.Fairness = true })
	drifting := of(func(h *history.Header) { h.Claims.Drift = &history.Drift{Rate: 0.5} })
	const take = `
		0    c1 takes lease=1000
		`
	withBetween := func(events string) string {
		return "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n" + events + "\n2 c1 ok count=1\n"
	}
	waits := of(func(h *history.Header) { h.Claims.Handoff = 500 * millisecond })
	const forgotAndTakenBack = `
		100  fault start 1 delete-key n2
		100  server n2 cause=fault
		150  server n3 DEL by=c1
		200  c2 acquire lease=1000
		201  server n2 SET by=c2 holder=c2 ttl=1000
		201  server n3 SET by=c2 holder=c2 ttl=1000
		202  c2 ok count=1
		300  c1 release
		301  c1 fail err=lost`
	const forkedUnseen = "\n100 fault start 1 failover n1\n150 c1 ok\n200 c1 acquire lease=9000\n202 c1 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok"
	const passedEnd = take + "1001 server n1 cause=expiry\n1100 fault start 1 clock-jump n1\n"
	const afterPassedEnd = "\n1500 c1 release\n1501 server n1 EVAL by=c1\n1502 c1 ok"
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
	const afterNobody = `
		6025 server n1 SET by=c2 holder=c2 ttl=1000
		6026 c2 ok count=1
		6027 c2 gives`
	const takenAgain = take + `
		10   c1 acquire lease=1000
		11   server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
		12   c1 ok count=2
		`
	planned := total
	planned.Faults = []history.PlannedFault{{ID: 1, Fault: "failover", Traits: history.Traits{Instant: true, Promotes: true, LosesWrites: true}}}
	longTake := strings.ReplaceAll(take, "1000", "10000")
	const takeRenewed = `
		0    c1 takes lease=1000 renewed
		`
	const second = `
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
	onEach := strings.Replace(onThree, "2    c1 ok", "1    server n3 SET by=c1 holder=c1 ttl=1000\n2    c1 ok", 1)
	const nestedLonger = take + `
		3    server n1r1 cause=replication holder=c1 ttl=998
		10   c1 acquire lease=9000
		11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
		12   c1 ok count=2
		`
	const promoted = `
		100  fault start 1 failover n1
		200  c2 acquire lease=1000
		201  server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary
		202  c2 ok count=1
		300  c1 release
		301  c1 fail err=lost
		310  c2 release
		311  server n1r1 DEL by=c2 role=primary
		312  c2 ok`
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
	const releasedUnheard = `
		0    c2 takes lease=1000
		3    server n1r1 cause=replication holder=c2 ttl=998
		10   c2 gives
		20   c1 takes lease=1000
		`
	servedAgain := func(fault, node string) string {
		if fault != "" {
			fault = "\n20 " + fault
		}
		return "10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + fault +
			"\n30 c2 acquire lease=1000\n31 server " + node + " EVAL by=c2 holder=c1 ttl=1000 role=primary\n40 c2 fail err=busy"
	}
	overtakenOn := func(node, role string) string {
		return `
		100   fault start 1 failover n1
		20000 c1 takes lease=1000
		20010 c2 acquire lease=1000 wait=900
		20200 c3 acquire lease=1000 wait=900
		20300 c1 gives
		20303 server n1 SET by=c3 holder=c3 ttl=1000
		20304 c3 ok count=1
		20310 c3 gives
		20400 server ` + node + ` SET by=c2 holder=c2 ttl=1000` + role + `
		20401 c2 ok count=1`
	}
	const atPromoted = "200 c2 acquire lease=1000\n201 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary\n202 c2 ok count=1\n" +
		"310 c2 release\n311 server n1r1 DEL by=c2 role=primary\n312 c2 ok"
	refusedWith := func(fault string) string {
		return take + "50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok\n100 c1 acquire lease=1000\n101 server n1 SET by=c1 holder=c1 ttl=1000\n" + fault + "200 c1 fail err=busy\n300 c2 acquire lease=1000\n301 c2 fail err=busy"
	}
	const releasedBefore = "250 fault start 1 failover n1\n300 c3 acquire lease=1000\n301 c3 fail err=busy\n310 c2 release\n311 c2 fail err=lost"
	const lateGrant = "0 c2 acquire lease=1000\n1 c2 ok count=1\n5 c1 acquire lease=1000 wait=900\n450 c2 release\n451 c2 ok\n500 c1 ok count=1 "
	const afterIt = "\n1200 c1 release\n1201 c1 fail err=not-held"
	const takenAfterIt = "\n1050 c2 acquire lease=1000\n1052 c2 ok count=1" + afterIt + "\n1300 c2 release\n1301 c2 ok"
	const outlived = take + `
		1001 server n1 cause=expiry
		1100 c2 takes lease=1000
		`
	const renewedElsewhere = takeRenewed + `
		3    server n1r1 cause=replication holder=c1 ttl=997
		100  fault start 1 failover n1
		400  server n1r1 EVAL by=c1 role=primary holder=c1 ttl=1000
		800  server n1r1 EVAL by=c1 role=primary holder=c1 ttl=1000
		1001 server n1 cause=expiry
		1100 c2 acquire lease=1000
		`
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
	nestedOnThree := of(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = 3, 2, true })
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
	const repeats = "15 fault start 1 hold-reply c1 n1\n20 c1 release\n"
	const isRepeated = "30 c1 info err=unknown\n40 fault start 2 clock-jump n1\n41 server n1 cause=expiry\n50 c1 release\n60 c1 ok count=1"
	const onReplica = "13 server n1r1 cause=replication holder=c1 count=2 ttl=997 role=replica\n"
	const emptied = "100 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n110 server n1 cause=restart\n"
	const givesBackThere = "130 fault start 2 failover n1\n200 c1 release\n201 server n1r1 EVAL by=c1 holder=c1 count=1 ttl=809 role=primary\n202 c1 ok count=1\n203 c1 release\n204 c1 fail err=lost\n"
	const keptBack = "1 fault start 1 hold-request c1 n1\n2 c1 acquire lease=1000 wait=100\n"
	const takenBeside = "50 server n1r1 EVAL by=c1 holder=c1 ttl=1000 role=primary\n51 c1 ok count=1\n60 c1 release\n61 server n1r1 EVAL by=c1 role=primary\n62 c1 ok\n"
	const keptBackArrives = "300 fault end 1 hold-request c1 n1\n300 server n1 EVAL by=c1 holder=c1 ttl=1000\n1301 server n1 cause=expiry"
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
	const lateReply = "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n50 c1 ok count=1\n"
	const unlogged = `
		0    c1 acquire lease=1000
		2    c1 ok count=1
		`
	const unloggedSecond = `
		200  c2 acquire lease=1000
		202  c2 ok count=1
		300  c1 release
		301  c1 fail err=lost
		310  c2 release
		311  c2 ok`
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
	const laterHold = "100 c2 acquire lease=1000\n101 c2 ok count=1\n102 c2 release\n103 c2 ok"
	const onThreeLater = "2000 c2 acquire lease=1000\n2001 server n1 SET by=c2 holder=c2 ttl=1000\n2001 server n2 SET by=c2 holder=c2 ttl=1000\n2002 c2 ok count=1\n" +
		"2010 c2 release\n2011 server n1 DEL by=c2\n2011 server n2 DEL by=c2\n2012 c2 ok"
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
	for _, tt := range []struct {
		line             string
		property         Property
		right            history.Header
		witness, because string // inherent
		wrong            history.Header
		counter          string // the lock's fault
	}{
		{"a server forgot the hold", Exclusion, plain,
			take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + bothDone, "deleted from node-1 at 0.100 s, from outside",
			plain, take + "100 server n1 DEL by=c2" + second + bothDone},
		{"enough of a quorum forgot the hold", Exclusion, quorum,
			onThree + `
			100  fault start 1 delete-key n2
			100  server n2 cause=fault
			200  c2 acquire lease=1000
			201  server n2 SET by=c2 holder=c2 ttl=1000
			201  server n3 SET by=c2 holder=c2 ttl=1000
			202  c2 ok count=1
			300  c1 release
			301  c1 fail err=lost`, "deleted from node-2",
			quorum, onEach + `
			100  fault start 1 delete-key n2
			100  server n2 cause=fault
			200  c2 acquire lease=1000
			201  server n2 SET by=c2 holder=c2 ttl=1000
			202  c2 ok count=1
			300  c1 release
			301  c1 fail err=lost`},
		{"one of a quorum forgot the hold, and one was taken back as its answer came late", Exclusion, quorum,
			onEach + forgotAndTakenBack, "deleted from node-2",
			quorum, onEach + strings.Replace(forgotAndTakenBack, "cause=fault", "DEL by=c1", 1)},
		{"enough of a quorum forgot the hold, and more did later", Linearizable, quorum,
			onThree + deletedFromSecond + thenFromFirst, "deleted from node-2",
			quorum, onThree + strings.Replace(deletedFromSecond, "cause=fault", "DEL by=c2", 1) + thenFromFirst},
		{"a promoted replica had not heard of a release and the next grant", Exclusion, plain,
			releasedUnheard + promoted, "node-1-replica-1, which answers in the place",
			plain, releasedUnheard + "23 server n1r1 cause=replication holder=c1 ttl=998\n" + promoted},
		{"two servers have a queue each", Fairness, fair,
			overtakenOn("n1r1", " role=primary"), "each had a queue of its own",
			fair, overtakenOn("n1", "")},
		{"a promoted replica hands the lock to an owner that had its turn", Count, fair,
			take + servedAgain("fault start 1 failover n1", "n1r1"), "never heard that client-1/1 had had its turn",
			fair, take + servedAgain("", "n1")},
		{"a promoted replica did not have the hold", Exclusion, plain, take + promoted, "node-1-replica-1, which answers in the place",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997\n" + promoted},
		{"a replica confirmed the hold, another was promoted", Exclusion, acks,
			withBetween("1.5 server n1r2 cause=replication holder=c1 ttl=999") + promoted, "node-1-replica-1",
			acks, take + promoted},
		{"a replica confirmed the hold, and then the fault took it there as well", Exclusion, acks,
			withBetween("1.2 server n1r1 cause=replication holder=c1 ttl=999\n1.4 fault start 1 delete-key n1\n1.4 server n1 cause=fault\n1.8 server n1r1 cause=replication role=replica") + second + bothDone, "from outside",
			acks, withBetween("1.4 fault start 1 delete-key n1\n1.4 server n1 cause=fault") + second + bothDone},
		{"a clock ended the lease", Exclusion, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + second + bothDone, "the clock of node-1 ended the lease",
			drifting, take + "100 fault start 1 clock-jump n1\n600 server n1 cause=expiry" + strings.NewReplacer("200 ", "700 ", "201 ", "701 ", "202 ", "702 ").Replace(second) +
				strings.NewReplacer("300 ", "800 ", "301 ", "801 ", "310 ", "810 ", "311 ", "811 ", "312 ", "812 ").Replace(bothDone)},
		{"told by the next renewal", Exclusion, telling,
			takeRenewed + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + "340 c1 lost\n350 c2 release\n351 server n1 DEL by=c2\n352 c2 ok", "from outside",
			telling, takeRenewed + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + `
			1100 server n1 SET by=c2 holder=c2 ttl=1000
			2000 server n1 SET by=c2 holder=c2 ttl=1000
			2500 c1 release
			2501 c1 fail err=lost
			2510 c2 gives`},
		{"the renewals went to the server that took the place", Exclusion, telling,
			renewedElsewhere + "1101 server n1 SET by=c2 holder=c2 ttl=1000\n1102 c2 ok count=1\n1300 c1 release\n1301 server n1r1 DEL by=c1 role=primary\n1302 c1 ok\n1310 c2 release\n1311 server n1 DEL by=c2\n1312 c2 ok", "had an earlier end of the hold than the servers had confirmed",
			telling, renewedElsewhere + "1101 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary\n1102 c2 ok count=1\n1300 c1 release\n1301 c1 fail err=lost\n1310 c2 release\n1311 server n1r1 DEL by=c2 role=primary\n1312 c2 ok"},
		{"a careless user works on after the lease", Exclusion, plain, outlived + "1300 c1 release\n1301 c1 fail err=lost", "for longer than its lease, which nobody renews",
			careful, outlived + "1300 c1 release\n1301 c1 fail err=lost"},
		{"a stopped process cannot notice", Exclusion, careful,
			take + "500 fault start 1 pause c1\n" + strings.TrimPrefix(outlived, take) + "1300 fault end 1 pause c1\n1301 c1 stopped\n1310 c1 release\n1311 c1 fail err=lost", "was stopped from 0.500 s",
			careful, take + "500 fault start 1 pause c1\n" + strings.TrimPrefix(outlived, take) + "1300 fault end 1 pause c1\n1400 c2 release\n1401 c2 ok\n1500 c2 acquire lease=9000\n1502 c2 ok count=1\n3301 c1 release\n3311 c1 fail err=lost"},
		{"a request that came late put a lost hold on one more server", Linearizable, quorumTotal,
			lateOnThird + "100 fault start 1 node-restart n2\n101 server n2 cause=restart\n110 fault end 1 node-restart n2\n" + lateOnThirdDone, "node-2 came back without the hold",
			quorumTotal, lateOnThird + "100 fault start 1 reset c2 n2\n101 server n2 DEL by=c2\n" + lateOnThirdDone},
		{"the resource without tokens", ResourceSafe, guarded,
			take + `
			3    c1 read
			4    c1 ok value=10
			100  fault start 1 delete-key n1
			100  server n1 cause=fault` + second + `
			203  c2 read
			204  c2 ok value=10
			205  c2 write value=9 base=10
			206  c2 ok value=10
			290  c1 write value=9 base=10
			291  c1 ok value=9` + bothDone, "from outside",
			guarded, take + `
			3    c1 read
			4    c1 ok value=10
			100  server n1 DEL by=c2` + second + `
			203  c2 read
			204  c2 ok value=10
			205  c2 write value=9 base=10
			206  c2 ok value=10
			290  c1 write value=9 base=10
			291  c1 ok value=9` + bothDone},
		{"the counter of the tokens was lost", Fencing, fenced,
			"0 c1 acquire lease=1000\n2 c1 ok count=1 token=7\n3 c1 release\n4 c1 ok\n10 fault start 1 failover n1\n20 c2 acquire lease=1000\n21 c2 ok count=1 token=1\n22 c2 release\n23 c2 ok", "lost the counter",
			fenced, "0 c1 acquire lease=1000\n2 c1 ok count=1 token=7\n3 c1 release\n4 c1 ok\n10 fault start 1 delete-key n1\n20 c2 acquire lease=1000\n21 c2 ok count=1 token=1\n22 c2 release\n23 c2 ok"},
		{"a clock ended the lease early", Lease, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry\n300 c1 release\n301 c1 fail err=lost", "moved the clock of node-1",
			plain, take + "101 server n1 cause=expiry\n300 c1 release\n301 c1 fail err=lost"},
		{"a clock ended the lease early, within the drift of the lock", Lease, drifting, // not a violation at all
			take + "100 fault start 1 clock-jump n1\n600 server n1 cause=expiry\n700 c1 release\n701 c1 fail err=lost", "ok",
			drifting, take + "600 server n1 cause=expiry\n700 c1 release\n701 c1 fail err=lost"},
		{"a hold that a server lost is free", Linearizable, plain,
			take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + bothDone, "from outside",
			plain, take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + strings.Replace(bothDone, "c1 fail err=lost", "c1 ok", 1)},
		{"a hold that was taken again and then deleted is free", Linearizable, plain,
			takenAgain + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + second + bothDone, "from outside",
			plain, takenAgain + "100 fault start 1 delete-key n2\n100 server n2 cause=fault" + second + bothDone},
		{"a clock ends a lease after an inner release, which left the lease alone", Linearizable, plain,
			takenAgain + "100 fault start 1 clock-jump n1\n" + givesOneBack + "wasttl=400" + thenExpires, "the clock of node-1 ended the lease 501 ms early",
			plain, takenAgain + "100 fault start 1 clock-jump n1\n" + givesOneBack + thenExpires},
		{"a clock runs ahead, and the server comes back with the little that is left of the lease", Linearizable, plain,
			take + "100 fault start 1 clock-jump n1\n110 fault start 2 node-restart n1\n120 fault end 2 node-restart n1\n" + comesBackShort, "the clock of node-1 ended the lease 871 ms early",
			plain, take + "110 fault start 2 node-restart n1\n120 fault end 2 node-restart n1\n" + comesBackShort},
		{"a shorter acquire reaches one server late, when the next one has begun", Lease, nestedOnThree, // not a violation at all
			strings.NewReplacer("T1", "103", "T2", "104", "T3", "105", "LEFT", "2897").Replace(thriceOnThree), "ok",
			nestedOnThree, strings.NewReplacer("T1", "1103", "T2", "1104", "T3", "1105", "LEFT", "1897").Replace(thriceOnThree)},
		{"a release tells what became of the one before, and a clock ended the hold since", Errors, plain, // not a violation of errors
			takenAgain + repeats + "21 server n1 EVAL by=c1 holder=c1 count=1 ttl=990\n" + isRepeated, "ok",
			plain, takenAgain + repeats + isRepeated},
		{"a server lost the hold, and its replica took its place with it", Linearizable, plain,
			takenAgain + onReplica + emptied + givesBackThere, "came back without the hold at 0.110 s",
			plain, takenAgain + onReplica + givesBackThere},
		{"a server lost the hold, and its owner dies when it notices that", Linearizable, telling,
			takeRenewed + emptied + "120 c1 lost\n120 fault start 2 crash c1\n120 c1 crash", "came back without the hold at 0.110 s",
			telling, takeRenewed + "120 c1 lost\n120 fault start 2 crash c1\n120 c1 crash"},
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
		{"a hold whose grant arrived late lasts until its server lost it", Linearizable, plain,
			lateReply + "90 c2 acquire lease=1000\n91 c2 fail err=busy\n" + jumped, "the clock of node-1 ended the lease",
			plain, lateReply + jumped + "150 c2 acquire lease=1000\n151 c2 fail err=busy"},
		{"a server forgot a release that it had carried out", Linearizable, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n120 c1 fail err=lost", "carried out the release of client-1/1 at 0.101 s",
			plain, take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 reset c1 n1\n110 fault end 1 reset c1 n1\n120 c1 fail err=lost"},
		{"a server forgot a release, and the owner is told that it holds nothing", Errors, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 node-restart n1\n110 fault end 1 node-restart n1\n120 c1 fail err=not-held", "made the servers forget it",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997 role=replica\n100 c1 release\n101 server n1 DEL by=c1\n102 server n1r1 cause=replication role=replica\n103 fault start 1 failover n1\n120 c1 fail err=not-held"},
		{"a failover forgets a release, and its replica had not heard of the grant", Errors, plain,
			take + "100 c1 release\n101 server n1 DEL by=c1\n101 fault start 1 failover n1\n120 c1 fail err=not-held", "made the servers forget it",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997 role=replica\n100 c1 release\n101 server n1 DEL by=c1\n102 server n1r1 cause=replication role=replica\n" +
				"103 fault start 1 failover n1\n120 c1 fail err=not-held"},
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
		{"a server grants a request at the end of a partition, and nobody hears of it", Progress, waits, // not a violation at all
			lateToNobody + "3021 server n1 SET by=c3 holder=c3 ttl=3000\n6021 server n1 cause=expiry" + afterNobody, "ok",
			waits, lateToNobody + afterNobody},
		{"nobody saw the server that answered", Linearizable, plain,
			"0 fault start 1 failover n1\n100 c1 acquire lease=1000\n102 c1 ok count=1\n200 c2 acquire lease=1000\n202 c2 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok", "two servers may have answered",
			plain, "0 fault start 1 reset c1 n1\n100 c1 acquire lease=1000\n102 c1 ok count=1\n200 c2 acquire lease=1000\n202 c2 ok count=1\n300 c1 release\n302 c1 ok\n400 c2 release\n402 c2 ok"},
		{"nobody saw the server that answered, and a release is under way at the fault", Linearizable, plain,
			"0 c1 acquire lease=9000\n2 c1 ok count=1\n10 c1 release\n20 c2 acquire lease=9000\n22 c2 ok count=1" + forkedUnseen, "two servers may have answered",
			plain, "0 c1 acquire lease=9000\n2 c1 ok count=1\n20 c2 acquire lease=9000\n22 c2 ok count=1\n50 c1 release" + forkedUnseen},
		{"an acquire finds its own hold from before", Lease, plain, // not a violation at all
			"0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 fault start 1 partition c1 n1\n50 c1 info err=unknown\n60 fault end 1 partition c1 n1\n400 c1 acquire lease=1000\n401 server n1 PEXPIRE by=c1 holder=c1 ttl=1000\n402 c1 ok count=1\n500 c1 release\n501 server n1 DEL by=c1\n502 c1 ok", "ok",
			plain,
			"0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n2 fault start 1 partition c1 n1\n50 c1 info err=unknown\n60 fault end 1 partition c1 n1\n400 c1 acquire lease=1000\n402 c1 ok count=1\n500 c1 release\n501 server n1 DEL by=c1\n502 c1 ok"},
		{"a replica kept the hold, and became primary later", Errors, total, // not a violation at all
			take + "3 server n1r1 cause=replication holder=c1 ttl=997\n100 c1 release\n101 server n1 DEL by=c1\n102 c1 ok\n110 c1 acquire lease=1000\n200 fault start 1 failover n1\n" +
				"210 server n1r1 SET by=c1 role=primary holder=c1 ttl=1000\n212 c1 ok count=1\n300 c1 release\n301 server n1r1 DEL by=c1 role=primary\n302 c1 ok", "ok",
			total, take + "100 c1 release\n102 c1 ok\n200 c1 acquire lease=1000\n210 server n1 SET by=c1 holder=c1 ttl=1000\n212 c1 ok count=1\n300 c1 release\n301 server n1 DEL by=c1\n302 c1 ok"},
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
		{"a client took an unheard grant back, and handed the lock to the next acquire of the owner", Lease, fair, // not a violation at all
			handedToItself, "ok",
			fair, strings.Replace(handedToItself, "401  c1 info err=unknown", "401  c1 fail err=busy", 1)},
		{"two servers answered, and each is right by itself", Linearizable, plain,
			forked + forkedDone, "both answered after the fault at 0.100 s",
			plain, forked + "250 c2 acquire lease=1000\n251 server n1 SET by=c2 holder=c2 ttl=1000\n252 c2 ok count=1\n260 c2 release\n261 server n1 DEL by=c2\n262 c2 ok" +
				strings.Replace(forkedDone, "401  server n1 DEL by=c3\n\t\t402  c3 ok", "402  c3 fail err=not-held", 1)},
		{"a hold that its owner never heard of was lost", Linearizable, plain,
			unheard + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + second + secondDone, "the clock of node-1 ended the lease",
			plain, unheard + "101 server n1 DEL by=c2" + second + secondDone},
		{"without a server log, a fault in the time of the hold", Exclusion, plain,
			unlogged + "100 fault start 1 delete-key n1\n" + unloggedSecond, "a fault at 0.100 s may have cost the servers the hold",
			plain, "0 fault start 1 delete-key n1\n" + strings.NewReplacer("0    c1", "5    c1", "2    c1", "7    c1").Replace(unlogged) + unloggedSecond},
		{"without a server log, two servers answer since long ago", Exclusion, plain,
			"0 fault start 1 failover n1\n" + strings.NewReplacer("0    c1", "6000 c1", "2    c1", "6002 c1").Replace(unlogged) +
				strings.NewReplacer("200 ", "6200 ", "202 ", "6202 ", "300 ", "6300 ", "301 ", "6301 ", "310 ", "6310 ", "311 ", "6311 ").Replace(unloggedSecond), "a fault at 0.000 s may have cost the servers the hold",
			plain, "0 fault start 1 failover n1\n100 fault end 1 failover n1\n" + strings.NewReplacer("0    c1", "6000 c1", "2    c1", "6002 c1").Replace(unlogged) +
				strings.NewReplacer("200 ", "6200 ", "202 ", "6202 ", "300 ", "6300 ", "301 ", "6301 ", "310 ", "6310 ", "311 ", "6311 ").Replace(unloggedSecond)},
		{"a replica that stops takes nobody's place", Linearizable, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + second + behind + "1206 fault start 2 node-crash n1r1\n" + behindDone, "the clock of node-1 ended the lease",
			plain, take + "101 server n1 DEL by=c2" + second + behind + "1206 fault start 2 node-crash n1r1\n" + behindDone},
		{"a user stopped, and its hold ended before its release", Linearizable, careful,
			take + "980 c1 stopped\n980 c1 release\n985 fault start 1 clock-jump n1\n985 server n1 cause=expiry\n986 c1 fail err=not-held", "the clock of node-1 ended the lease",
			careful, take + "980 c1 stopped\n980 c1 release\n985 server n1 cause=expiry\n986 c1 fail err=not-held"},
		{"without a lease a dead holder holds for ever", Progress, forever,
			"0 c1 acquire\n1 server n1 SET by=c1 holder=c1 ttl=-1\n2 c1 ok count=1\n3 fault start 1 crash c1\n3 c1 crash\n10 c2 acquire wait=9000\n9010 c2 fail err=busy\n9011 end keys=stock", "died at 0.003 s with the lock, which has no lease",
			plain, "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=-1\n2 c1 ok count=1\n3 fault start 1 crash c1\n3 c1 crash\n10 c2 acquire lease=1000 wait=9000\n9010 c2 fail err=busy\n9011 end keys=stock"},
		{"without a lease a late request holds for ever, though its owner has asked again", Cleanup, forever,
			"0 fault start 1 partition c1 n1\n1 c1 acquire wait=100\n101 c1 info err=unknown\n" + askedAgainLate, "the acquire of client-1/1 ended at 0.101 s without a grant",
			forever, "0 fault start 1 partition c1 n1\n" + askedAgainLate},
		{"without a lease a release that waits for answers keeps the lock", Progress, forever,
			heldForEver + lateRelease + "5000 fault end 1 hold-reply c1 n1\n" + releasedLate, "a fault held up the release of client-1/1",
			forever, heldForEver + "5 fault end 1 hold-reply c1 n1\n" + lateRelease + releasedLate},
		{"a release of unknown outcome, and a lease on a slow clock", Linearizable, slowOnce,
			keptOnSlowClock + "1500 c1 acquire lease=1000\n1501 c1 fail err=busy", "a fault moved the clock of a server at 0.010 s",
			slowOnce, keptOnSlowClock + "2500 c1 acquire lease=1000\n2501 c1 fail err=busy"},
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
		{"a promoted server never heard of the longer lease of a nested hold", Lease, plain,
			nestedLonger + "100 fault start 1 failover n1\n200 c1 release\n201 server n1r1 EVAL by=c1 holder=c1 count=1 ttl=700 role=primary\n202 c1 ok count=1", "may have undone",
			plain, nestedLonger + "200 c1 release\n201 server n1 EVAL by=c1 holder=c1 count=1 ttl=700\n202 c1 ok count=1"},
		{"a promoted server never heard of a release", Linearizable, plain,
			take + "3 server n1r1 cause=replication holder=c1 ttl=997\n10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + second + releasedBefore, "may have undone",
			plain, take + "10 c1 release\n11 server n1 DEL by=c1\n12 c1 ok" + second + releasedBefore},
		{"the grant named an end of its hold that is over", Linearizable, once, // not a violation at all
			lateGrant + "until=1000" + afterIt, "ok",
			once, lateGrant + afterIt},
		{"the grant named an end of its hold, and then another owner got the lock", Linearizable, once, // not a violation at all
			lateGrant + "until=1000" + takenAfterIt, "ok",
			once, lateGrant + "until=1100" + takenAfterIt},
		{"a hold that was lost while its dead owner took it again", Linearizable, plain,
			take + "100 c1 acquire lease=1000\n101 server n1 EVAL by=c1 holder=c1 count=2 ttl=1000\n101 fault start 1 crash c1\n101 c1 crash\n150 fault start 2 delete-key n1\n150 server n1 cause=fault" + second + secondDone, "from outside",
			plain, take + "100 c1 acquire lease=1000\n101 server n1 EVAL by=c1 holder=c1 count=2 ttl=1000\n101 fault start 1 crash c1\n101 c1 crash\n150 server n1 DEL by=c2" + second + secondDone},
		{"an unknown outcome", Errors, total, // not a violation at all: the witness has another
			take + "10 fault start 1 partition c1 n1\n20 c1 release\n30 c1 info err=unknown\n40 fault end 1 partition c1 n1\n50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok", "ok",
			total, take + "20 c1 release\n30 c1 info err=unknown\n50 c1 release\n51 server n1 DEL by=c1\n52 c1 ok"},
	} {
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
