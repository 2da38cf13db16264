package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestInherentExclusion(t *testing.T) {
	acks := leased(func(h *history.Header) { h.Claims.Acks = 1 })
	guarded := leased(func(h *history.Header) { h.Resource = &history.Resource{Initial: 10} })
	fenced := leased(func(h *history.Header) {
		h.Claims.Fencing = true
		h.Resource = &history.Resource{Initial: 10, Fenced: true, FencesReads: true}
	})
	withBetween := func(events string) string {
		return "0 c1 acquire lease=1000\n1 server n1 SET by=c1 holder=c1 ttl=1000\n" + events + "\n2 c1 ok count=1\n"
	}
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
	onEach := strings.Replace(onThree, "2    c1 ok", "1    server n3 SET by=c1 holder=c1 ttl=1000\n2    c1 ok", 1)
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
	const releasedUnheard = `
		0    c2 takes lease=1000
		3    server n1r1 cause=replication holder=c2 ttl=998
		10   c2 gives
		20   c1 takes lease=1000
		`
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
	testInherent(t, []inherentTest{
		{"a server forgot the hold", Exclusion, plain,
			take + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + bothDone, "deleted from node-1 at 0.100 s, from outside",
			plain, take + "100 server n1 DEL by=c2" + takenByOther + bothDone},
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
		{"a promoted replica had not heard of a release and the next grant", Exclusion, plain,
			releasedUnheard + promoted, "node-1-replica-1, which answers in the place",
			plain, releasedUnheard + "23 server n1r1 cause=replication holder=c1 ttl=998\n" + promoted},
		{"two servers have a queue each", Fairness, fair,
			overtakenOn("n1r1", " role=primary"), "each had a queue of its own",
			fair, overtakenOn("n1", "")},
		{"a promoted replica did not have the hold", Exclusion, plain, take + promoted, "node-1-replica-1, which answers in the place",
			plain, take + "3 server n1r1 cause=replication holder=c1 ttl=997\n" + promoted},
		{"a replica confirmed the hold, another was promoted", Exclusion, acks,
			withBetween("1.5 server n1r2 cause=replication holder=c1 ttl=999") + promoted, "node-1-replica-1",
			acks, take + promoted},
		{"a replica confirmed the hold, and then the fault took it there as well", Exclusion, acks,
			withBetween("1.2 server n1r1 cause=replication holder=c1 ttl=999\n1.4 fault start 1 delete-key n1\n1.4 server n1 cause=fault\n1.8 server n1r1 cause=replication role=replica") + takenByOther + bothDone, "from outside",
			acks, withBetween("1.4 fault start 1 delete-key n1\n1.4 server n1 cause=fault") + takenByOther + bothDone},
		{"a clock ended the lease", Exclusion, plain,
			take + "100 fault start 1 clock-jump n1\n101 server n1 cause=expiry" + takenByOther + bothDone, "the clock of node-1 ended the lease",
			drifting, take + "100 fault start 1 clock-jump n1\n600 server n1 cause=expiry" + strings.NewReplacer("200 ", "700 ", "201 ", "701 ", "202 ", "702 ").Replace(takenByOther) +
				strings.NewReplacer("300 ", "800 ", "301 ", "801 ", "310 ", "810 ", "311 ", "811 ", "312 ", "812 ").Replace(bothDone)},
		{"told by the next renewal", Exclusion, telling,
			takeRenewed + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + "340 c1 lost\n350 c2 release\n351 server n1 DEL by=c2\n352 c2 ok", "from outside",
			telling, takeRenewed + "100 fault start 1 delete-key n1\n100 server n1 cause=fault" + takenByOther + `
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
		{"the resource without tokens", ResourceSafe, guarded,
			take + `
			3    c1 read
			4    c1 ok value=10
			100  fault start 1 delete-key n1
			100  server n1 cause=fault` + takenByOther + `
			203  c2 read
			204  c2 ok value=10
			205  c2 write value=9 base=10
			206  c2 ok value=10
			290  c1 write value=9 base=10
			291  c1 ok value=9` + bothDone, "from outside",
			guarded, take + `
			3    c1 read
			4    c1 ok value=10
			100  server n1 DEL by=c2` + takenByOther + `
			203  c2 read
			204  c2 ok value=10
			205  c2 write value=9 base=10
			206  c2 ok value=10
			290  c1 write value=9 base=10
			291  c1 ok value=9` + bothDone},
		{"the counter of the tokens was lost", Fencing, fenced,
			"0 c1 acquire lease=1000\n2 c1 ok count=1 token=7\n3 c1 release\n4 c1 ok\n10 fault start 1 failover n1\n20 c2 acquire lease=1000\n21 c2 ok count=1 token=1\n22 c2 release\n23 c2 ok", "lost the counter",
			fenced, "0 c1 acquire lease=1000\n2 c1 ok count=1 token=7\n3 c1 release\n4 c1 ok\n10 fault start 1 delete-key n1\n20 c2 acquire lease=1000\n21 c2 ok count=1 token=1\n22 c2 release\n23 c2 ok"},
		{"without a server log, a fault in the time of the hold", Exclusion, plain,
			unlogged + "100 fault start 1 delete-key n1\n" + unloggedSecond, "a fault at 0.100 s may have cost the servers the hold",
			plain, "0 fault start 1 delete-key n1\n" + strings.NewReplacer("0    c1", "5    c1", "2    c1", "7    c1").Replace(unlogged) + unloggedSecond},
		{"without a server log, two servers answer since long ago", Exclusion, plain,
			"0 fault start 1 failover n1\n" + strings.NewReplacer("0    c1", "6000 c1", "2    c1", "6002 c1").Replace(unlogged) +
				strings.NewReplacer("200 ", "6200 ", "202 ", "6202 ", "300 ", "6300 ", "301 ", "6301 ", "310 ", "6310 ", "311 ", "6311 ").Replace(unloggedSecond), "a fault at 0.000 s may have cost the servers the hold",
			plain, "0 fault start 1 failover n1\n100 fault end 1 failover n1\n" + strings.NewReplacer("0    c1", "6000 c1", "2    c1", "6002 c1").Replace(unlogged) +
				strings.NewReplacer("200 ", "6200 ", "202 ", "6202 ", "300 ", "6300 ", "301 ", "6301 ", "310 ", "6310 ", "311 ", "6311 ").Replace(unloggedSecond)},
	})
}
