package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// An extension is a promise like that of an acquire: a later end of the hold.
func TestExtensions(t *testing.T) {
	extends := leased(func(h *history.Header) { h.Claims.Extends = true })
	const extended = `
		0    c1 takes lease=1000
		10   c1 extend lease=5000
		11   server n1 PEXPIRE by=c1 holder=c1 was=c1 ttl=5000 wasttl=990
		12   c1 ok
		`
	const ignored = `
		0    c1 takes lease=1000
		10   c1 extend lease=5000; 12 ok
		1001 server n1 cause=expiry
		1010 c2 takes lease=1000
		1020 c2 gives
		2000 c1 release; 2001 fail err=lost`
	const released = `
		4000 c1 gives`
	run(t, []propertyTest{
		{"busy within the extension", extends, extended + "3000 c2 acquire\n3001 c2 fail err=busy" + released, Linearizable, OutcomeOK, "", "", ""},
		{"released within it, after an inner acquire that failed", extends, `
			0    c1 acquire lease=1000; 2 ok count=1
			3    c1 acquire lease=1000; 4 fail err=canceled
			10   c1 extend lease=5000; 12 ok
			3000 c1 release; 3001 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"busy without a server log", extends, "0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n12 c1 ok\n3000 c2 acquire\n3001 c2 fail err=busy\n4000 c1 release\n4002 c1 ok",
			Linearizable, OutcomeOK, "", "", ""},
		{"busy after no extension", extends, "0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n12 c1 fail err=lost\n3000 c2 acquire\n3001 c2 fail err=busy\n4000 c1 release\n4002 c1 fail err=lost",
			Linearizable, Violated, "", "busy", ""},
		{"lost by the clock before the answer", extends, "0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n1500 c1 fail err=lost\n1500 c1 release\n1500 c1 fail err=lost\n1500 c2 acquire\n1502 c2 fail err=busy",
			Linearizable, OutcomeOK, "", "", ""},
		{"the lease that it asks for", extends, extended + released, Lease, OutcomeOK, "", "", "server log"},
		{"without an effect", extends, ignored, Lease, Violated, "", "the extend of client-1/1 succeeded at 0.012 s for 5.000 s; the servers owe the hold until 1.001 s only", "server log"},
		{"another owner within it", extends, ignored, Exclusion, Violated, ContractBroken, "during the lease of client-1/1, which ran until 5.010 s", "server log"},
		{"for longer than asked", extends, `
			0    c1 takes lease=1000
			10   c1 extend lease=5000
			11   server n1 PEXPIRE by=c1 holder=c1 was=c1 ttl=50000 wasttl=990
			12   c1 ok` + released, Lease, Violated, "", "at most 5.000 s was asked for", "server log"},
		{"shortened afterwards", extends, extended + `
			20   c1 acquire lease=1000
			21   server n1 PEXPIRE by=c1 holder=c1 was=c1 ttl=1000 wasttl=4991
			22   c1 fail err=busy` + released, Lease, Violated, "", "of its lease were still owed", "server log"},
		{"of a hold that was over, which it takes anew", extends, `
			0    c1 takes lease=1000
			1000 server n1 cause=expiry
			1001 c1 extend lease=5000
			1002 server n1 EVAL by=c1 holder=c1 ttl=5000
			1003 c1 ok
			2000 c1 gives`, Lease, Violated, "", "took the lock anew", "server log"},
		{"of a hold that is gone", extends, `
			0    c1 takes lease=1000
			3    c1 gives
			10   c1 extend lease=5000; 12 ok`, Lease, Violated, "", "its owner held nothing", "server log"},
		{"of another owner's hold", extends, `
			0    c1 takes lease=1000
			1001 server n1 cause=expiry
			1010 c2 takes lease=1000
			1013 c1 extend lease=5000
			1014 server n1 PEXPIRE by=c1 holder=c2 was=c2 ttl=5000 wasttl=997
			1015 c1 ok
			1020 c2 gives`, Ownership, Violated, "", "client-1 prolonged the hold of client-2/1", "server log"},
		{"unknown for no reason", leased(func(h *history.Header) { h.Claims.Extends, h.Order = true, history.TotalOrder }),
			"0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n12 c1 info err=unknown\n20 c1 release\n21 c1 ok",
			Errors, Violated, "", "the extend of client-1/1 ended at 0.012 s with an unknown outcome", ""},
		{"refused for no reason", leased(func(h *history.Header) { h.Claims.Extends, h.Order = true, history.TotalOrder }),
			"0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n12 c1 fail err=refused\n20 c1 release\n21 c1 ok",
			Errors, Violated, "", "the extend of client-1/1 was refused at 0.012 s, although nothing was wrong", ""},
		{"failed, and the lock names the later end", extends, `
			0    c1 takes lease=1000
			10   c1 extend lease=5000; 900 info err=unknown until=5010
			910  c1 gives`, Lease, Violated, "", "the extend of client-1/1 failed at 0.900 s, and the lock names a validity until 5.010 s; the servers owe the hold until 1.001 s", "server log"},
		{"failed, and the servers owe what the lock names", extends, `
			0    c1 takes lease=1000
			10   c1 extend lease=5000
			11   server n1 PEXPIRE by=c1 holder=c1 was=c1 ttl=5000 wasttl=990
			900  c1 info err=unknown until=5010
			910  c1 gives`, Lease, OutcomeOK, "", "", "server log"},
		{"a waiter of a dead owner", extends, "0 c1 acquire lease=1000\n2 c1 ok count=1\n10 c1 extend lease=5000\n12 c1 ok\n13 c1 crash\n20 c2 acquire lease=1000 wait=9000\n4990 c2 ok count=1\n5000 c2 release\n5001 c2 ok",
			Progress, OutcomeOK, "", "", ""},
	})
}

// The client of an owner releases a lost hold. If it dies before the owner does anything,
// another owner rightly gets the lock before the end of the lease.
func TestLostByTheDead(t *testing.T) {
	run(t, []propertyTest{{"dead before its release", leased(nil), `
		0    c1 acquire lease=1000; 1 ok count=1
		985  c1 lost
		990  c1 crash
		991  c2 acquire lease=1000; 992 ok count=1
		1920 c2 release; 1921 ok`, Linearizable, OutcomeOK, "", "", ""}})
}

// A lock that was closed renews nothing, and so notices a deleted key only when its lease
// is over.
func TestLossAfterClose(t *testing.T) {
	h := leased(func(h *history.Header) {
		h.Claims.Renewal, h.Claims.LostSign, h.Claims.RenewEvery = true, true, 1700*millisecond
	})
	r, err := Judge(story(t, h, `
		0    c1 takes lease=5200 renewed
		1360 fault start 1 delete-key n1
		1360 server n1 cause=fault
		1600 c1 closed
		3200 c2 takes lease=5200 renewed
		5190 c1 lost
		6000 c2 gives`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Verdicts[Exclusion]; v.Outcome != Violated || v.Inherent == "" {
		t.Errorf("not inherent: %+v", v)
	}
}

// A waiter to which a lock is handed has no more than its own request, and its client may
// find its connection broken.
func TestHandedOn(t *testing.T) {
	fair := func(lease int64) history.Header {
		return leased(func(h *history.Header) {
			h.Claims.Fairness, h.Claims.Renewal, h.Claims.LostSign, h.Claims.RenewEvery = true, true, true, lease/3
		})
	}
	run(t, []propertyTest{
		{"lost by the lease of its own request", fair(2 * second), `
			0    c1 takes lease=2000 renewed
			100  c2 acquire lease=2000 renewed wait=1000
			660  server n1 EVAL by=c1 holder=c1 ttl=2000
			1006 c1 release
			1007 server n1 EVAL by=c1 holder=c2 ttl=2000
			1008 c1 ok
			1008 c2 ok count=1
			1008 fault start 1 delay c2
			2085 c2 lost
			2085 c2 release; 2085 fail err=lost
			2086 fault end 1 delay c2
			2087 server n1 EVALSHA by=c2`, Errors, OutcomeOK, "", "", ""},
		{"made whole over a broken connection", fair(20 * second), `
			0    c1 takes lease=20000 renewed
			10   c2 acquire lease=20000 renewed wait=19000
			100  fault start 1 reset c2
			101  fault end 1 reset c2
			5000 c1 release
			5001 server n1 EVAL by=c1 holder=c2 ttl=2600
			5002 c1 ok
			5002 c2 ok count=1
			5500 server n1 EVAL by=c2 holder=c2 ttl=20000
			6000 c2 gives`, Lease, OutcomeOK, "", "", "server log"},
	})
}
