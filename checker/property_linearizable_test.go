package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestLinearizable(t *testing.T) {
	single := leased(func(h *history.Header) { h.Claims.Reentrant = false })
	diedWithIt := func(until string) string {
		return `
			0    c2 acquire lease=1000; 1 ok
			2    c1 acquire lease=1000
			600  c2 release; 601 ok
			703  c1 ok ` + until + `
			800  c1 crash
			1500 c3 acquire lease=1000; 1501 ok
			1600 c3 release; 1601 ok`
	}
	run(t, []propertyTest{
		{"granted unheard, and over by its lease, within an acquire", leased(nil), `
			0    c1 takes lease=1000
			10   c2 acquire lease=1000 wait=2000
			20   c1 gives
			23   server n1 SET by=c2 holder=c2 ttl=1000
			100  c1 acquire lease=1000; 101 fail err=busy
			1022 server n1 cause=expiry
			2000 c2 fail err=busy
			2010 c1 takes lease=1000
			2020 c1 gives`, Linearizable, OutcomeOK, "", "", "server log"},
		{"granted unheard, over by its lease, and granted once more within an acquire", leased(nil), `
			0    c2 acquire lease=1000 wait=2000
			1    server n1 SET by=c2 holder=c2 ttl=1000
			100  c1 acquire lease=1000; 101 fail err=busy
			1001 server n1 cause=expiry was=c2
			1010 c1 takes lease=1000
			1020 c1 gives
			1030 server n1 SET by=c2 holder=c2 ttl=1000
			1031 c2 ok count=1
			1040 c2 gives`, Linearizable, OutcomeOK, "", "", "server log"},
		{"granted unheard, and granted for a new lease within an acquire", leased(nil), `
			0    c2 acquire lease=1000 wait=2000
			1    server n1 SET by=c2 holder=c2 ttl=1000
			100  c1 acquire lease=1000; 101 fail err=busy
			900  server n1 SET by=c2 holder=c2 ttl=1000
			901  c2 ok count=1
			1200 c1 acquire lease=1000; 1201 fail err=busy
			1800 c2 gives`, Linearizable, OutcomeOK, "", "", "server log"},
		{"refused by nobody", leased(nil), `
			0  c1 acquire lease=1000; 2 ok count=1
			10 c1 release; 11 ok
			20 c2 acquire lease=1000; 21 fail err=busy`, Linearizable, Violated, "", "refused the lock as busy", ""},
		{"refused by an owner that may have executed", leased(nil), `
			0  c1 acquire lease=1000; 2 info err=unknown
			20 c2 acquire lease=1000; 21 fail err=busy
			30 c3 acquire lease=1000; 31 ok count=1
			40 c3 release; 41 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"lease ran out", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			1001 c2 acquire lease=1000; 1002 ok count=1
			1100 c1 release; 1101 fail err=not-held
			1200 c2 release; 1201 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"expired too early", leased(nil), `
			0   c1 acquire lease=1000; 2 ok count=1
			900 c2 acquire lease=1000; 902 ok count=1`, Linearizable, Violated, "", "client-2/1 was granted the lock", ""},
		{"released after its lease", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			1100 c1 release; 1101 ok`, Linearizable, Violated, "", "with a lease of 1.000 s, which was over", ""},
		{"renewed, released late", leased(nil), `
			0    c1 acquire lease=1000 renewed; 2 ok count=1
			9100 c1 release; 9101 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"told lost early", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			100  c1 lost
			200  c1 release; 201 fail err=lost`, Linearizable, Violated, "", "while its lease still ran", ""},
		{"told lost within the declared margin", leased(func(h *history.Header) { h.Claims.Margin = int64(second) / 10 }), `
			0    c2 acquire lease=1000; 1 ok count=1
			2    c2 release; 3 ok
			10   c1 acquire lease=1000; 12 ok count=1
			920  c1 lost
			921  c1 release; 922 fail err=lost`, Linearizable, OutcomeOK, "", "", ""},
		{"told lost before the declared margin", leased(func(h *history.Header) { h.Claims.Margin = int64(second) / 10 }), `
			0    c2 acquire lease=1000; 1 ok count=1
			2    c2 release; 3 ok
			10   c1 acquire lease=1000; 12 ok count=1
			890  c1 lost
			891  c1 release; 892 fail err=lost`, Linearizable, Violated, "", "while its lease still ran", ""},
		{"told lost by its own clock", leased(nil), `
			0    c1 acquire lease=1000; 50 ok count=1
			1000 c1 lost
			1001 c1 release; 1002 fail err=lost
			1100 c2 acquire lease=1000; 1101 ok count=1
			1102 c2 release; 1103 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"a dead owner's hold, past the end that its late grant had named", single, diedWithIt("until=1001"), Linearizable, OutcomeOK, "", "", ""},
		{"a dead owner's hold, whose grant had named no end", single, diedWithIt(""), Linearizable, Violated, "", "client-1/1 had taken it", ""},
		{"nested holds of a lock that has none", leased(func(h *history.Header) { h.Claims.Reentrant = false }), `
			0   c1 acquire lease=1000; 2 ok count=1
			100 c1 acquire lease=1000; 101 ok count=1`, Linearizable, Violated, "", "", ""},
		{"told lost by its own clock, the servers having granted later", leased(nil), `
			0    c1 acquire lease=1000
			40   server n1 SET by=c1 holder=c1 ttl=1000
			50   c1 ok count=1
			990  c1 lost
			991  c1 release; 992 fail err=lost
			1040 server n1 cause=expiry
			1100 c2 acquire lease=1000; 1101 ok count=1
			1102 c2 release; 1103 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"a try that took it for a while", leased(nil), `
			0  c1 acquire lease=1000
			5  c2 acquire lease=1000; 6 fail err=busy
			10 c1 fail err=no-acks
			11 c3 acquire lease=1000; 12 ok count=1
			13 c3 release; 14 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"legal for the clients, not by the servers", leased(nil), `
			0   c1 takes lease=1000
			10  c2 acquire lease=1000 wait=3000
			20  c3 acquire lease=1000 wait=3000
			50  c1 gives
			1400 server n1 SET by=c2 holder=c2 ttl=1000
			1401 c2 ok count=1
			1500 server n1 DEL by=c3
			1600 server n1 SET by=c3 holder=c3 ttl=1000
			1601 c3 ok count=1
			1700 end`, Linearizable, Violated, "", "client-3/1 was granted the lock", "server log"},
		{"unclear release, then another holder", leased(nil), `
			0  c1 acquire lease=1000; 2 ok count=1
			5  c1 release; 6 info err=unknown
			10 c2 acquire lease=1000; 12 ok count=1
			13 c2 release; 14 ok`, Linearizable, OutcomeOK, "", "", ""},
	})
}
