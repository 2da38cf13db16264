package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestProgressAndFairness(t *testing.T) {
	fair := leased(func(h *history.Header) { h.Claims.Fairness = true })
	far := leased(func(h *history.Header) { h.Claims.Fairness, h.Latency = true, 20*millisecond })
	comesAt := func(when string) string { // c2 waits from 10 on
		return `
			5   c1 acquire lease=1000; 6 ok count=1
			10  c2 acquire lease=1000 wait=900
			` + when + ` c3 acquire lease=1000 wait=900
			350 c1 release; 351 ok
			352 c3 ok count=1
			353 c3 release; 354 ok
			355 c2 ok count=1`
	}
	const askedBefore = "0 c2 acquire lease=1000\n1 c2 ok count=1\n2 c2 release\n3 c2 ok"
	dropped := leased(nil)
	dropped.Faults = []history.PlannedFault{{ID: 1, Fault: "drop-message"}}
	cut := leased(nil)
	cut.Faults = []history.PlannedFault{{ID: 1, Fault: "partition"}}
	held := leased(nil)
	held.Faults = []history.PlannedFault{{ID: 1, Fault: "hold-request"}}
	lateGrant := func(start, end string) string {
		return `
			0    c3 takes lease=3000
			3    ` + start + `
			4    c1 acquire lease=3000 wait=9000
			8    c3 crash
			10   c1 crash
			20   c2 acquire lease=3000 wait=9000
			3000 server n1 cause=expiry
			3050 ` + end + `
			3050 server n1 SET by=c1 holder=c1 ttl=3000
			6050 server n1 cause=expiry
			6051 server n1 SET by=c2 holder=c2 ttl=3000
			6052 c2 ok count=1`
	}
	sleeper := func(fault string) string {
		return `
			0    c1 takes lease=1000
			10   c2 acquire lease=1000 wait=9000
			20   ` + fault + `
			100  c1 gives
			1500 server n1 SET by=c2 holder=c2 ttl=1000
			1501 c2 ok count=1
			1600 c2 gives`
	}
	const overtaken = `
		0   c1 acquire lease=1000; 1 ok count=1
		10  c2 acquire lease=1000 wait=900
		100 c3 acquire lease=1000 wait=900
		200 c1 release; 201 ok
		202 c3 ok count=1`
	run(t, []propertyTest{
		{"never returns", leased(nil), "0 c1 acquire lease=1000\n9000 end", Progress, Violated, "", "never returned", ""},
		{"crashed, so need not return", leased(nil), "0 c1 acquire lease=1000\n1 c1 crash\n9000 c2 acquire lease=1000\n9001 c2 ok count=1\n9100 c2 release\n9101 c2 ok", Progress, OutcomeOK, "", "", ""},
		{"overruns its wait", leased(nil), "0 c1 acquire lease=1000 wait=100\n1101 c1 fail err=canceled", Progress, Violated, "", "returned 1.001 s late", ""},
		{"just in time", leased(nil), "0 c1 acquire lease=1000 wait=100\n1100 c1 ok count=1\n1101 c1 release\n1102 c1 ok", Progress, OutcomeOK, "", "", ""},
		{"sleeps on a free lock", dropped, sleeper("fault start 1 drop-message c2 n1"), Progress, Violated, "", "slept on a free lock", "server log"},
		{"for a dead client's request, which a fault held back", held, lateGrant("fault start 1 hold-request c1 n1", "fault end 1 hold-request c1 n1"), Progress, OutcomeOK, "", "", ""},
		{"for a dead client's request, which comes late by itself", leased(nil), lateGrant("c4 acquire lease=3000 wait=3047", "c4 fail err=busy"), Progress, Violated, "", "while nobody held the lock", ""},
		{"cut off meanwhile", cut, sleeper("fault start 1 partition c2 n1"), Progress, OutcomeOK, "", "", ""},
		{"waits for nobody", leased(nil), "0 c1 acquire lease=1000 wait=9000\n4000 c1 ok count=1", Progress, Violated, "", "while nobody held the lock", ""},
		{"waits for a crashed holder", leased(func(h *history.Header) { h.Claims.Lease = false }),
			"0 c1 acquire\n1 c1 ok count=1\n500 c1 crash\n600 c2 acquire wait=9000\n9600 c2 fail err=busy", Progress, Violated, "",
			"client-1/1, the last to hold it, was gone at 0.500 s, and the lock has no leases", ""},
		{"panics", leased(nil), "0 c1 acquire lease=1000\n1 c1 panic msg=nil-map", Progress, Violated, "", "nil-map", ""},
		{"overtaken", fair, overtaken + `
			203 c3 release; 204 ok
			205 c2 ok count=1`, Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken and refused", fair, overtaken + `
			910 c2 fail err=busy
			911 c3 release; 912 ok`, Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"refused, and then another granted", fair, `
			0   c1 acquire lease=1000; 1 ok count=1
			10  c2 acquire lease=1000 wait=190
			100 c3 acquire lease=1000 wait=900
			190 c1 release; 191 ok
			201 c3 ok count=1
			205 c2 fail err=busy
			911 c3 release; 912 ok`, Fairness, OutcomeOK, "", "", ""},
		{"overtaken on its way, at first", far, comesAt("200"), Fairness, OutcomeOK, "", "", ""},
		{"overtaken after the longest way", far, comesAt("280"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken on its way, again", far, askedBefore + comesAt("140"), Fairness, OutcomeOK, "", "", ""},
		{"overtaken after a way that it knows", far, askedBefore + comesAt("200"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"overtaken on a fast network", fair, comesAt("200"), Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"in order", fair, `
			0   c1 acquire lease=1000; 1 ok count=1
			10  c2 acquire lease=1000 wait=900
			40  c3 acquire lease=1000 wait=900
			200 c1 release; 201 ok
			202 c3 ok count=1
			203 c3 release; 204 ok
			205 c2 ok count=1`, Fairness, OutcomeOK, "", "", ""},
	})
}
