package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// An owner goes on after an operation without an answer. That one may have left it a hold on
// the servers, beside those that it takes later.
func TestAnOwnerGoesOnAfterNoAnswer(t *testing.T) {
	permits := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.Permits, h.Claims.TakesBack = false, 3, true })
	readers := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.ReadWrite, h.Claims.TakesBack = false, true, true
	})
	turning := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.ReadWrite, h.Claims.PrefersWriters, h.Claims.Downgrades, h.Claims.Handoff = false, true, true, true, second
	})
	takesBack := leased(func(h *history.Header) { h.Claims.TakesBack = true })
	const unheard = `
		0    fault start 1 hold-reply c1 n1
		1    c1 acquire lease=1000 mode=shared
		2    server n1 EVAL by=c1 holder=c1 ttl=1000
		40   c1 info err=unknown
		41   fault end 1 hold-reply c1 n1
		`
	const known = `
		1    c1 acquire lease=1000 mode=shared
		2    server n1 EVAL by=c1 holder=c1 ttl=1000
		3    c1 ok count=1
		40   c1 release
		41   server n1 EVAL by=c1 holder=c1 ttl=961
		42   c1 ok
		`
	const twice = `
		50   c1 acquire lease=9000 mode=shared
		51   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
		52   c1 ok count=1
		60   c1 release
		61   server n1 EVAL by=c1 holder=c1 count=1 ttl=941
		62   c1 ok
		70   c1 acquire lease=9000 mode=shared
		71   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
		72   c1 ok count=1
		`
	const cleaned = `
		2000 c2 acquire lease=9000 wait=0
		2001 server n1 EVAL by=c2 holder=c1 count=1 ttl=7070
		2002 c2 fail err=busy`
	const late = `
		0    c1 acquire lease=9000 wait=50
		10   fault start 1 hold-request c1 n1
		50   c1 info err=unknown
		60   c1 acquire lease=9000
		61   server n1 EVAL by=c1 holder=c1 ttl=9000
		62   c1 ok count=1
		70   c1 release
		71   server n1 EVAL by=c1
		72   c1 ok
		4000 fault end 1 hold-request c1 n1
		4001 server n1 EVAL by=c1 holder=c1 ttl=9000
		`
	const expired = `
		0    c1 acquire lease=1000
		1    server n1 EVAL by=c1 holder=c1 ttl=1000
		2    c1 ok count=1
		10   c2 acquire lease=9000 wait=7980
		20   c3 acquire lease=9000 wait=-1
		30   c4 acquire lease=60000 wait=-1 mode=shared
		1001 server n1 cause=expiry
		1002 server n1 EVAL by=c3 holder=c3 ttl=9000
		1003 c3 ok count=1
		`
	const turns = `
		1100 c3 release
		1101 server n1 EVAL by=c3 holder=c4 ttl=9000
		1102 c3 ok
		1103 c4 ok count=1
		1200 c1.2 acquire lease=9000 mode=shared self=c1 wait=9000
		7990 c2 fail err=busy
		8000 server n1 EVAL by=c1 holder=c1.2 ttl=9000 was=c4
		8001 c1.2 ok count=1`
	met := func(answer string) string {
		return `
			0    c2 takes lease=1000
			10   c2 gives
			20   c1 acquire lease=9000; 30 ` + answer + `
			31   server n1 EVAL by=c1 holder=c1 ttl=9000
			100  c1 acquire lease=9000; 150 fail err=busy`
	}
	everywhere := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.Permits, h.Claims.Nodes, h.Claims.Quorum = false, 2, 3, 3
	})
	const failed = `
		1    c1 acquire lease=9000
		2    server n2 EVAL by=c1 holder=c1 ttl=9000
		3    fault start 1 hold-request c1 n2
		10   c1 fail err=busy
		`
	const released = `
		20   c1 acquire lease=9000
		21   server n1 EVAL by=c1 holder=c1 ttl=9000
		22   server n2 EVAL by=c1 holder=c1 count=2 ttl=9000
		23   server n3 EVAL by=c1 holder=c1 ttl=9000
		30   c1 ok count=1
		40   c1 release
		41   server n1 EVAL by=c1
		42   server n2 EVAL by=c1 holder=c1 count=1 ttl=8960
		43   server n3 EVAL by=c1
		44   c1 ok
		5000 server n2 EVAL by=c1`
	run(t, []propertyTest{
		{"a permit of which it never heard", permits, strings.ReplaceAll(unheard+twice, " mode=shared", ""), Count, OutcomeOK, "", "", ""},
		{"a permit too many", permits, strings.ReplaceAll(known+twice, " mode=shared", ""), Count, Violated, "", "node-1 counted", "server log"},
		{"a reader's hold of which it never heard", readers, unheard + twice, Count, OutcomeOK, "", "", ""},
		{"another one takes that away when it is over", readers, unheard + twice + cleaned, Ownership, OutcomeOK, "", "", "server log"},
		{"another one takes a living one away", readers, strings.ReplaceAll(unheard, "=1000", "=9000") + strings.Replace(twice, "ttl=941", "ttl=8941", 1) + cleaned, Ownership, Violated, "", "client-2 lowered the hold", "server log"},
		{"another one takes a living one away, which the clock of the server ended", readers, "0 fault start 2 clock-drift n1\n" + strings.ReplaceAll(unheard, "=1000", "=9000") + strings.Replace(twice, "ttl=941", "ttl=8941", 1) + cleaned, Ownership, OutcomeOK, "", "", "server log"},
		{"what an acquire without an answer left keeps its owner out", leased(nil), met("info err=unknown"), Linearizable, OutcomeOK, "", "", "server log"},
		{"and that is no wrong answer", leased(nil), met("info err=unknown"), Errors, OutcomeOK, "", "", ""},
		{"that the lock was to take back", takesBack, met("info err=unknown"), Linearizable, Violated, "", "was refused the lock as busy", ""},
		{"a hold of its own keeps an owner out", leased(nil), met("ok count=1"), Linearizable, Violated, "", "was refused the lock as busy", ""},
		{"a permit of an acquire that failed, and that nobody hears of, stays beside a release", everywhere, failed + released, Errors, OutcomeOK, "", "", ""},
		{"a permit stays beside a release", everywhere, released, Errors, Violated, "", "node-2 held the lock for it", "server log"},
		{"a late request, taken back at once", takesBack, late + "4100 server n1 EVAL by=c1", Count, OutcomeOK, "", "", ""},
		{"a late request that stays", takesBack, late + "13001 server n1 cause=expiry", Count, Violated, "", "it held none then", "server log"},
		{"who may still have the lock passes nobody", leased(func(h *history.Header) { h.Claims.Fairness = true }), `
			0    c1 takes lease=9000
			50   fault start 1 hold-request c1 n1
			51   c1 release
			60   c2 acquire lease=1000 wait=9000
			90   c1 info err=unknown
			91   fault end 1 hold-request c1 n1
			600  c1 acquire lease=9000
			602  c1 ok count=1
			700  c1 release
			701  server n1 EVAL by=c1 holder=c2 ttl=1000
			702  c1 ok
			703  c2 ok count=1`, Fairness, OutcomeOK, "", "", ""},
		{"whose write is over waits behind a writer", turning, expired + turns, Progress, OutcomeOK, "", "", ""},
	})
}

// Two servers answer after a fork. The one without the writer gives a reader one more hold,
// beside that of an unanswered release.
func TestAReaderTakesOneMoreHoldInAFork(t *testing.T) {
	readers := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.ReadWrite = false, true })
	v := verdictOn(t, Exclusion, readers, `
		0    c2 acquire lease=1000 mode=shared
		1    server n1 EVAL by=c2 holder=c2 ttl=1000
		2    c2 ok count=1
		10   fault start 1 failover n1
		20   c2 release
		21   c2 info err=unknown
		100  c1 acquire lease=5000
		101  server n1r1 EVAL by=c1 holder=c1 ttl=5000 role=primary
		102  c1 ok count=1
		200  c2 acquire lease=1000 mode=shared
		201  server n1 EVAL by=c2 holder=c2 count=2 ttl=1000
		202  c2 ok count=1
		300  c1 release
		301  server n1r1 EVAL by=c1 role=primary
		302  c1 ok
		310  c2 release
		311  server n1 EVAL by=c2 holder=c2 count=1 ttl=600
		312  c2 ok`)
	if v.Outcome != Violated || v.Inherent == "" {
		t.Errorf("got %+v, want the fork to be the cause", v)
	}
}
