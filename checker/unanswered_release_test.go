package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// nestedHold: an outer hold with a lease of 1 s, and a renewed one within it.
const nestedHold = `
	0    c1 acquire lease=1000
	1    server n1 EVAL by=c1 holder=c1 count=1 ttl=1000
	2    c1 ok count=1
	3    c1 acquire lease=1000 renewed
	4    server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
	5    c1 ok count=2
	`

// An owner that gets no answer to a release can still say when its holds end. Its notice
// of loss ends them for all judges, though the release is repeated later.
func TestALossAfterAnUnansweredRelease(t *testing.T) {
	renewed := leased(func(h *history.Header) { h.Claims.Renewal, h.Claims.RenewEvery = true, int64(second)/3 })
	const cut = nestedHold + `
		10   fault start 1 hold-request c1
		11   c1 release
		20   c2 acquire lease=1000 wait=2000
	`
	const given = `
		991  server n1 EVAL by=c1
		992  server n1 EVAL by=c2 holder=c2 ttl=1000
		993  c2 ok count=1
		`
	const after = `
		1100 c2 release
		1101 server n1 EVAL by=c2
		1102 c2 ok
		5011 c1 info err=unknown
		5020 fault end 1 hold-request c1
		5511 c1 release; 5511 fail err=lost`
	// The first release has no effect, and the second one repeats it.
	const threeDeep = nestedHold + `
		6    c1 acquire lease=1000 renewed
		7    server n1 EVAL by=c1 holder=c1 count=3 ttl=1000
		8    c1 ok count=3
		11   c1 release
		801  server n1 EVAL by=c1 holder=c1 count=3 ttl=1000
		802  c1 info err=unknown
		`
	const repeated = threeDeep + `
		1100 c1 release
		1101 server n1 EVAL by=c1 holder=c1 count=2 ttl=700
		1102 c1 ok count=2
		`
	run(t, []propertyTest{
		{"another owner after the notice", renewed, cut + "989  c1 lost" + given + after, Linearizable, OutcomeOK, "", "", ""},
		{"the release then finds nothing", renewed, cut + "989  c1 lost" + given + strings.Replace(after, "err=lost", "err=not-held", 1), Linearizable, OutcomeOK, "", "", ""},
		{"another owner without a notice", renewed, cut + given + after, Linearizable, Violated, "", "client-2/1 was granted the lock at 0.993 s", ""},
		{"the outer hold is over when the inner one is released", renewed, repeated + `
			1103 c1 release
			1103 c1 lost
			1104 server n1 EVAL by=c1
			1105 c1 fail err=lost` + next, Errors, OutcomeOK, "", "", ""},
		{"two inner holds are left", renewed, threeDeep + `
			1100 c1 release
			1100 c1 lost
			1101 server n1 EVAL by=c1 holder=c1 count=2 ttl=700
			1102 c1 ok count=2
			1103 c1 release
			1104 server n1 EVAL by=c1
			1105 c1 fail err=lost` + next, Errors, Violated, "", "of the loss of its hold at 1.100 s", "server log"},
	})
}

// A request waits in its client until a server accepts connections again, and up to
// a second longer. Its client counts the lease from the call.
func TestALeaseFromACallThatWaited(t *testing.T) {
	plain := leased(nil)
	const down = `
		0    fault start 1 node-crash n1
		1000 c1 acquire lease=3000 wait=3000
		1300 fault end 1 node-crash n1
		`
	const late = `
		2100 server n1 EVAL by=c1 holder=c1 count=1 ttl=3000
		2101 c1 ok count=1
		`
	const inner = `
		2103 server n1 EVAL by=c1 holder=c1 count=2 ttl=2997
		2104 c1 ok count=2
		2105 c1 release
		2106 server n1 EVAL by=c1 holder=c1 count=1 ttl=1894
		2107 c1 ok count=1
		2108 c1 release
		2109 server n1 EVAL by=c1
		2110 c1 ok
		`
	run(t, []propertyTest{
		{"told at the end of the lease from the call", plain, down + late + "3950 c1 lost\n5100 server n1 cause=expiry" + next, Errors, OutcomeOK, "", "", ""},
		{"an inner hold with a short lease is no renewal", plain, down + late + `
			2102 fault start 2 delay c1
			2103 c1 acquire lease=1000
			3903 server n1 EVAL by=c1 holder=c1 count=2 ttl=1197
			3904 c1 ok count=2
			3905 server n1 EVAL by=c1 holder=c1 count=2 ttl=3000
			3950 c1 lost
			6905 server n1 cause=expiry` + next, Errors, OutcomeOK, "", "", ""},
		{"told long before", plain, down + late + "2500 c1 lost\n5100 server n1 cause=expiry" + next, Errors, Violated, "", "of the loss of its hold at 2.500 s", "server log"},
		{"an inner release leaves the rest from the call", plain, down + late + "2102 c1 acquire lease=1000" + inner + next, Lease, OutcomeOK, "", "", "server log"},
		{"and the hold ends with the rest from the call", plain, down + late + "2102 c1 acquire lease=1000" + strings.Split(inner, "2108 c1 release")[0] + `
			4000 server n1 cause=expiry
			4100 c1 release; 4101 fail err=not-held`, Lease, OutcomeOK, "", "", "server log"},
		{"without a fault it leaves too little", plain, `
			1000 c1 acquire lease=3000 wait=3000` + late + "2102 c1 acquire lease=3000" + inner + next, Lease, Violated, "", "were still owed", "server log"},
	})
}

// On several servers a lease counts from the first grant, though the last server was
// busy for long.
func TestALeaseFromTheFirstOfSeveralServers(t *testing.T) {
	group := leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum = 2, 2 })
	held := func(first string) string {
		return `
		0    c1 acquire lease=2000 wait=2000
		` + first + ` server n1 EVAL by=c1 holder=c1 count=1 ttl=2000
		1010 server n2 EVAL by=c1 holder=c1 count=1 ttl=2000
		1011 c1 ok count=1
		1012 c1 acquire lease=2000 renewed
		1013 server n1 EVAL by=c1 holder=c1 count=2 ttl=2000
		1013 server n2 EVAL by=c1 holder=c1 count=2 ttl=2000
		1014 c1 ok count=2
		1700 server n1 EVAL by=c1 holder=c1 count=2 ttl=2000
		1700 server n2 EVAL by=c1 holder=c1 count=2 ttl=2000
		2016 c1 release
		2016 c1 lost
		2018 server n1 EVAL by=c1
		2018 server n2 EVAL by=c1
		2019 c1 fail err=lost` + next
	}
	run(t, []propertyTest{
		{"a second apart", group, held("10  "), Errors, OutcomeOK, "", "", ""},
		{"at once", group, held("1009"), Errors, Violated, "", "of the loss of its hold at 2.016 s", "server log"},
	})
}

// The owner of nested holds asks for a release again and again. No client can see that
// the lock is free meanwhile, and once it has stopped asking, all can.
func TestAnUnansweredReleaseLeavesAnUnknownState(t *testing.T) {
	renewed := leased(func(h *history.Header) { h.Claims.Renewal, h.Claims.RenewEvery = true, int64(second)/3 })
	held := func(until string) string {
		return `
		0     c1 acquire lease=1000 renewed; 2 ok count=1
		3     c1 acquire lease=1000 renewed; 5 ok count=2
		10    fault start 1 refuse c1
		11    c1 release
		20    c2 acquire lease=1000 wait=20000
		5011  c1 info err=unknown
		5511  c1 release; 10511 info err=unknown
		` + until + `
		30000 c3 acquire lease=1000; 30001 ok count=1
		30002 c3 release; 30003 ok`
	}
	run(t, []propertyTest{
		{"it asks to the end of the wait", renewed, held(`
			11011 c1 release; 16011 info err=unknown
			16511 c1 release
			20020 c2 fail err=busy
			21511 c1 info err=unknown`), Progress, OutcomeOK, "", "", ""},
		{"it has stopped asking", renewed, held("20020 c2 fail err=busy"), Progress, Violated, "", "client-2/1 waited from", ""},
	})
}

// An owner repeats a release without an answer. Its success can be that of the first one,
// after which others have had the lock.
func TestARepeatedReleaseWasTheFirstOne(t *testing.T) {
	plain := leased(nil)
	fair := leased(func(h *history.Header) { h.Claims.Fairness = true })
	unwatched := leased(func(h *history.Header) { h.Unwatched = true })
	const first = `
		0    c1 takes lease=1000
		100  fault start 1 hold-reply c1 n1
		101  c1 release
		`
	const next = `
		150  c2 acquire lease=1000 wait=2000
		151  server n1 SET by=c2 holder=c2 ttl=1000
		152  c2 ok count=1
		300  c1 info err=unknown
		301  fault end 1 hold-reply c1 n1
		350  c1 release
		351  c1 ok
		400  c2 gives`
	handed := strings.NewReplacer("150  c2 acquire lease=1000 wait=2000", "", "151  server n1 SET by=c2 holder=c2 ttl=1000", "").Replace(next)
	const waits = "50 c2 acquire lease=1000 wait=2000\n"
	none := strings.NewReplacer("SET by=c2 holder=c2", "SET by=c2 was=c1 holder=c2").Replace(next)
	run(t, []propertyTest{
		{"and the next has taken the lock", plain, first + "102 server n1 DEL by=c1\n" + next, Linearizable, OutcomeOK, "", "", ""},
		{"and the log has it", plain, first + "102 server n1 DEL by=c1\n" + next, Errors, OutcomeOK, "", "", ""},
		{"and handed the lock on", fair, strings.Replace(first, "100 ", waits+"100 ", 1) + "102 server n1 EVAL by=c1 holder=c2 ttl=1000\n" + handed, Errors, OutcomeOK, "", "", ""},
		{"and no log shows it", unwatched, first + next, Linearizable, OutcomeOK, "", "", ""},
		{"which never arrived", plain, first + none, Linearizable, Violated, "", "client-1/1 released the lock at 0.351 s", ""},
		{"which arrives with the second one", plain, strings.Replace(first, "hold-reply", "hold-request", 1) + `
			300  c1 info err=unknown
			350  c1 release
			351  fault end 1 hold-request c1 n1
			351  server n1 DEL by=c1
			352  c1 fail err=not-held
			400  c2 takes lease=1000
			500  c2 gives`, Errors, OutcomeOK, "", "", ""},
		{"and another client's command ended the hold", plain, first + "102 server n1 DEL by=c3\n" + next, Errors, Violated, "", "although no server held the lock for it any more", "server log"},
	})
}

// The lease of a hold ended before a replica took the place of its server. So the failover
// took nothing from its owner, whose release has no answer and came in time.
func TestAHoldThatEndedBeforeAFailover(t *testing.T) {
	renewed := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.Renewal, h.Claims.RenewEvery = false, true, 400*millisecond
	})
	v := verdictOn(t, Linearizable, renewed, `
		0    c1 acquire lease=1000 renewed
		1    server n1 SET by=c1 holder=c1 ttl=1000
		2    c1 ok count=1
		3    server n1r1 cause=replication holder=c1 ttl=998
		400  server n1 EVAL by=c1 holder=c1 ttl=1000
		402  server n1r1 cause=replication holder=c1 ttl=998
		500  fault start 1 hold-request c1 n1
		600  c1 release
		1300 c2 acquire lease=1000; 1302 fail err=busy
		1400 server n1 cause=expiry
		1401 server n1r1 cause=expiry
		1403 c3 takes lease=5000
		1500 fault start 2 failover n1
		1510 fault end 2 failover n1
		1700 c3 release; 1701 fail err=lost
		2000 c2 acquire lease=1000
		2001 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary
		2002 c2 ok count=1
		2010 c2 release
		2011 server n1r1 DEL by=c2 role=primary
		2012 c2 ok
		5000 c1 info err=unknown
		5001 fault end 1 hold-request c1 n1`)
	if v.Inherent == "" {
		t.Errorf("got %+v, want the failover to be the cause, and nothing else to be wrong", v)
	}
}

// The releases of one hold may reach several servers one after another.
func TestReleasesWithoutAnAnswerReachOneServerAfterAnother(t *testing.T) {
	group := leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = 2, 2, false })
	released := func(first string) string {
		return `
		0    c1 acquire lease=20000
		1    server n1 EVAL by=c1 holder=c1 ttl=20000
		1    server n2 EVAL by=c1 holder=c1 ttl=20000
		2    c1 ok count=1
		` + first + `
		10   fault start 1 node-restart n2
		11   c1 release
		5010 server n1 EVAL by=c1
		5011 c1 info err=unknown
		5511 c1 release
		6000 server n2 EVAL by=c1
		6001 fault end 1 node-restart n2
		10511 c1 info err=unknown
		11011 c1 release; 11012 ok`
	}
	run(t, []propertyTest{
		{"each by one of them", group, released(""), Errors, OutcomeOK, "", "", ""},
		{"one server had lost the hold", group, strings.Replace(released("3 server n1 DEL by=c2"), "5010 server n1 EVAL by=c1", "", 1), Errors, Violated, "", "only 1 of the 2 servers that a hold needs still had it", "server log"},
	})
}
