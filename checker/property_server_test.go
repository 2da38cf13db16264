package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestOwnershipCountErrors(t *testing.T) {
	total := leased(func(h *history.Header) { h.Order = history.TotalOrder })
	const givenUp = `
		50   fault end 1 pause c1
		50   c1 acquire lease=1000 wait=9000; 50 fail err=canceled
		60   c2 takes lease=1000
		70   c2 gives`
	run(t, []propertyTest{
		{"deleted by another client", leased(nil), `
			0    c1 takes lease=1000
			10   c2 gives
			20   c1 release; 21 fail err=not-held`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"a stored value without identity", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=locked ttl=1000
			2    c1 ok count=1
			10   c2 gives`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"taken over after expiry", leased(nil), `
			0    c1 takes lease=1000
			1001 server n1 cause=expiry
			1010 c2 takes lease=1000
			1020 c2 gives`, Ownership, OutcomeOK, "", "", "server log"},
		{"cancelled while it was stopped in the call", total, "0 fault start 1 pause c1\n1 fault start 2 cancel c1" + givenUp, Errors, OutcomeOK, "", "", ""},
		{"cancelled before it was stopped", total, "0 fault start 2 cancel c1\n1 fault start 1 pause c1" + givenUp, Errors, Violated, "", "nobody had cancelled it", ""},
		{"no log", leased(nil), "0 c1 acquire lease=1000\n1 c1 ok count=1\n2 c1 release\n3 c1 ok", Ownership, Unknown, "", noServerLog, ""},
		{"first acquire counts 2", leased(nil), `
			0    c1 acquire lease=1000; 1 ok count=2
			2    c1 release; 3 ok count=1`, Count, Violated, "", "returned count 2", ""},
		{"unclear acquire may have counted", leased(nil), `
			0    c1 acquire lease=1000; 1 info err=unknown
			2    c1 acquire lease=1000; 3 ok count=2
			4    c1 release; 5 ok count=1
			6    c1 release; 7 ok`, Count, OutcomeOK, "", "", ""},
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
			0    c1 takes lease=1000
			10   c1 release
			11   server n1 DEL by=c1
			12   c1 fail err=not-held`, Errors, Violated, "", "it had released its hold", "server log"},
		{"granted, and told busy", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 fail err=busy`, Errors, Violated, "", "the servers had granted it", "server log"},
		{"released nothing", leased(nil), `
			0    c1 takes lease=1000
			1001 server n1 cause=expiry
			1100 c1 release; 1101 ok`, Errors, Violated, "", "no server held the lock for it", "server log"},
		{"released another's hold", leased(nil), `
			0    c1 takes lease=1000
			900  c1 release
			1001 server n1 cause=expiry
			1010 c2 takes lease=1000
			1100 server n1 DEL by=c1
			1101 c1 ok
			1200 c2 release; 1201 fail err=not-held`, Errors, Violated, "", "was the hold of client-2/1", "server log"},
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

// The end of an inner hold leaves the count of the outer hold as it was. So does that of an
// inner acquire that failed, if the lock claims it.
func TestTheEndOfAnInnerHold(t *testing.T) {
	plain := leased(nil)
	undoes := leased(func(h *history.Header) { h.Claims.TakesBack = true })
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
	const late = "300 server n1 EVAL by=c1 holder=c1 count=1 ttl=701"
	run(t, []propertyTest{
		{"is released", undoes, nested("", given(released, shortened), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is taken back", undoes, nested("", given(failed, late), ""), Lease, OutcomeOK, "", "", "server log"},
		{"is released, and still counts", plain, nested("", given(released, ""), ""), Count, Violated, "", "the release of client-1/1 left 1 hold; node-1 counts 2 at 0.022 s", "server log"},
		{"is not taken back", undoes, nested("", given(failed, ""), ""), Count, Violated, "", "the acquire of client-1/1 left 1 hold; node-1 counts 2 at 1.012 s", "server log"},
		{"is not taken back, as no claim demands", plain, nested("", given(failed, ""), ""), Count, OutcomeOK, "", "", ""},
		{"counts until its owner releases again", plain, nested("", given(released, ""), "\n22 c1 release\n23 server n1 DEL by=c1\n24 c1 ok"), Count, OutcomeOK, "", "", ""},
	})
}
