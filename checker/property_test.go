package checker

import (
	"strings"
	"testing"
)

// leased builds the header of a test history.
func leased(change func(*Header)) Header {
	h := Header{Claims: Claims{Reentrant: true, Lease: true, Quorum: 1, Nodes: 1, Handoff: int64(second)}}
	if change != nil {
		change(&h)
	}
	return h
}

type propertyTest struct {
	name     string
	header   Header
	story    string
	property Property
	want     Outcome
	class    string
	reason   string // a part of it
	evidence string
}

func run(t *testing.T, tests []propertyTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(string(tt.property)+"/"+tt.name, func(t *testing.T) {
			// Every story is about one thing; a last quick critical section
			// keeps it from being vacuous.
			h := story(t, tt.header, tt.story)
			r, err := Judge(h, Options{})
			if err != nil {
				t.Fatal(err)
			}
			v, ok := r.Verdicts[tt.property]
			if !ok {
				t.Fatalf("no verdict; have %v", r.Verdicts)
			}
			if r.Vacuous != "" && tt.want == Good {
				t.Fatalf("vacuous: %s", r.Vacuous)
			}
			if v.Outcome != tt.want || v.Class != tt.class || !strings.Contains(v.Reason, tt.reason) {
				t.Fatalf("got %+v, want %s %q with %q", v, tt.want, tt.class, tt.reason)
			}
			if tt.evidence != "" && v.Evidence != tt.evidence {
				t.Errorf("evidence is %q, want %q", v.Evidence, tt.evidence)
			}
			if v.Outcome == Violated && v.Reason == "" || len(v.Ops) > maxCause {
				t.Errorf("bad verdict: %+v", v)
			}
		})
	}
}

const handover = `
	0    c1 acquire lease=1000
	1    server n1 SET by=c1 holder=c1 ttl=1000
	2    c1 ok count=1 token=1
	500  c1 release
	501  server n1 DEL by=c1
	502  c1 ok
	600  c2 acquire lease=1000
	601  server n1 SET by=c2 holder=c2 ttl=1000
	602  c2 ok count=1 token=2
	700  c2 release
	701  server n1 DEL by=c2
	702  c2 ok
	`

func TestCorrectHandover(t *testing.T) {
	h := story(t, leased(func(h *Header) { h.Claims.Fencing, h.Claims.Fairness = true, true }), handover)
	r, err := Judge(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p, v := range r.Verdicts {
		if v.Outcome != Good {
			t.Errorf("%s: %+v", p, v)
		}
	}
	if len(r.Verdicts) != 10 {
		t.Errorf("%d verdicts, want 10: renewal and resource are not claimed", len(r.Verdicts))
	}
}

func TestExclusion(t *testing.T) {
	quorum := leased(func(h *Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = 3, 2, false })
	run(t, []propertyTest{
		{"second grant during the lease", leased(nil), `
			0   c1 acquire lease=1000
			1   server n1 SET by=c1 holder=c1 ttl=1000
			2   c1 ok count=1
			400 server n1 DEL cause=fault
			500 c2 acquire lease=1000
			501 server n1 SET by=c2 holder=c2 ttl=1000
			502 c2 ok count=1
			600 c1 release
			601 c1 fail err=lost
			700 c2 release
			701 server n1 DEL by=c2
			702 c2 ok`, Exclusion, Violated, ContractBroken, "during the lease of client-1/1", "server log"},
		{"holder goes on after its lease", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1001 server n1 cause=expiry
			1100 c2 acquire lease=1000
			1101 server n1 SET by=c2 holder=c2 ttl=1000
			1102 c2 ok count=1
			1200 c1 release
			1201 c1 fail err=not-held
			1300 c2 release
			1301 server n1 DEL by=c2
			1302 c2 ok`, Exclusion, Violated, LeaseOutlived, "had ended at 1.001 s", "server log"},
		{"granted at the very end of the lease", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1000 c2 acquire lease=1000
			1001 server n1 SET by=c2 holder=c2 ttl=1000
			1002 c2 ok count=1
			1200 c1 release
			1201 c1 fail err=not-held`, Exclusion, Violated, LeaseOutlived, "", ""},
		{"failover: the server that owed the lease is another", leased(nil), `
			0   c1 acquire lease=1000
			1   server n1 SET by=c1 holder=c1 ttl=1000
			2   c1 ok count=1
			500 c2 acquire lease=1000
			501 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary
			502 c2 ok count=1
			600 c1 release
			601 c1 fail err=lost`, Exclusion, Violated, ContractBroken, "", ""},
		{"owed on a minority of three only", quorum, `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    server n2 SET by=c1 holder=c1 ttl=1000
			3    c1 ok count=1
			900  server n3 SET by=c1 holder=c1 ttl=1000
			1100 c2 acquire lease=1000
			1101 server n1 SET by=c2 holder=c2 ttl=1000
			1102 server n2 SET by=c2 holder=c2 ttl=1000
			1103 c2 ok count=1
			1200 c1 release
			1201 c1 fail err=lost`, Exclusion, Violated, LeaseOutlived, "", ""},
		{"a crashed holder believes nothing", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			100  c1 crash
			500  c2 acquire lease=1000
			502  c2 ok count=1
			600  c2 release
			601  c2 ok`, Exclusion, Good, "", "", ""},
		{"told in time", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			900  c1 lost
			1500 c2 acquire lease=1000
			1502 c2 ok count=1
			1600 c2 release
			1601 c2 ok`, Exclusion, Good, "", "", ""},
		{"no server log, lease still owed", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			500  c2 acquire lease=1000
			502  c2 ok count=1
			600  end`, Exclusion, Violated, ContractBroken, "", ""},
		{"no server log, undecidable", leased(nil), `
			0    c1 acquire lease=1000
			100  c1 ok count=1
			1000 c2 acquire lease=1000
			1050 c2 ok count=1
			1200 end`, Exclusion, Violated, "", "without a server log", ""},
	})
}

func TestLinearizable(t *testing.T) {
	run(t, []propertyTest{
		{"refused by nobody", leased(nil), `
			0  c1 acquire lease=1000
			2  c1 ok count=1
			10 c1 release
			11 c1 ok
			20 c2 acquire lease=1000
			21 c2 fail err=busy`, Linearizable, Violated, "", "refused the lock as busy", ""},
		{"refused by an owner that may have executed", leased(nil), `
			0  c1 acquire lease=1000
			2  c1 info err=unknown
			20 c2 acquire lease=1000
			21 c2 fail err=busy
			30 c3 acquire lease=1000
			31 c3 ok count=1
			40 c3 release
			41 c3 ok`, Linearizable, Good, "", "", ""},
		{"lease ran out", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			1001 c2 acquire lease=1000
			1002 c2 ok count=1
			1100 c1 release
			1101 c1 fail err=not-held
			1200 c2 release
			1201 c2 ok`, Linearizable, Good, "", "", ""},
		{"expired too early", leased(nil), `
			0   c1 acquire lease=1000
			2   c1 ok count=1
			900 c2 acquire lease=1000
			902 c2 ok count=1`, Linearizable, Violated, "", "client-2/1 was granted the lock", ""},
		{"released after its lease", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			1100 c1 release
			1101 c1 ok`, Linearizable, Violated, "", "client-1/1 released the lock", ""},
		{"renewed, released late", leased(nil), `
			0    c1 acquire lease=1000 renewed
			2    c1 ok count=1
			9100 c1 release
			9101 c1 ok`, Linearizable, Good, "", "", ""},
		{"told lost early", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			100  c1 lost
			200  c1 release
			201  c1 fail err=lost`, Linearizable, Violated, "", "while its lease still ran", ""},
		{"told lost by its own clock", leased(nil), `
			0    c1 acquire lease=1000
			50   c1 ok count=1
			1000 c1 lost
			1001 c1 release
			1002 c1 fail err=lost
			1100 c2 acquire lease=1000
			1101 c2 ok count=1
			1102 c2 release
			1103 c2 ok`, Linearizable, Good, "", "", ""},
		{"nested holds of a lock that has none", leased(func(h *Header) { h.Claims.Reentrant = false }), `
			0   c1 acquire lease=1000
			2   c1 ok count=1
			100 c1 acquire lease=1000
			101 c1 ok count=1`, Linearizable, Violated, "", "", ""},
		{"a try that took it for a while", leased(nil), `
			0  c1 acquire lease=1000
			5  c2 acquire lease=1000
			6  c2 fail err=busy
			10 c1 fail err=no-acks
			11 c3 acquire lease=1000
			12 c3 ok count=1
			13 c3 release
			14 c3 ok`, Linearizable, Good, "", "", ""},
		{"unclear release, then another holder", leased(nil), `
			0  c1 acquire lease=1000
			2  c1 ok count=1
			5  c1 release
			6  c1 info err=unknown
			10 c2 acquire lease=1000
			12 c2 ok count=1
			13 c2 release
			14 c2 ok`, Linearizable, Good, "", "", ""},
	})
}

func TestResourceAndFencing(t *testing.T) {
	guarded := leased(func(h *Header) { h.Resource = &Resource{Initial: 10}; h.Claims.Fencing = true })
	fenced := leased(func(h *Header) { h.Resource = &Resource{Initial: 10, Fenced: true}; h.Claims.Fencing = true })
	section := func(tokens ...string) string {
		return `
			0   c1 acquire lease=1000
			1   c1 ok count=1 token=` + tokens[0] + `
			2   c1 release
			3   c1 ok
			4   c2 acquire lease=1000
			5   c2 ok count=1 token=` + tokens[1] + `
			6   c2 release
			7   c2 ok
			`
	}
	lost := section("1", "2") + `
			10 c1 read
			11 c1 ok value=10
			12 c2 read
			13 c2 ok value=10
			14 c2 write value=9 base=10 token=2
			15 c2 ok value=10
			16 c1 write value=9 base=10 token=1
			17 c1 ok value=9`
	run(t, []propertyTest{
		{"lost update", guarded, lost, ResourceSafe, Violated, "", "1 update lost: client-1/1 had read 10", ""},
		{"every update seen", fenced, section("1", "2") + `
			10 c1 read
			11 c1 ok value=10
			14 c1 write value=9 base=10 token=1
			15 c1 ok value=10
			16 c2 write value=8 base=9 token=2
			17 c2 ok value=9`, ResourceSafe, Good, "", "", ""},
		{"stale write accepted", fenced, section("1", "2") + `
			10 c1 read
			11 c1 ok value=10
			14 c2 write value=9 base=10 token=2
			15 c2 ok value=10
			16 c1 write value=8 base=9 token=1
			17 c1 ok value=9`, ResourceSafe, Violated, "", "token 1 was accepted", ""},
		{"tokens grow", leased(func(h *Header) { h.Claims.Fencing = true }), section("7", "8"), Fencing, Good, "", "", ""},
		{"token repeats", leased(func(h *Header) { h.Claims.Fencing = true }), section("7", "7"), Fencing, Violated, "", "token 7", ""},
		{"token goes back", leased(func(h *Header) { h.Claims.Fencing = true }), section("7", "3"), Fencing, Violated, "", "token 3", ""},
		{"no token", leased(func(h *Header) { h.Claims.Fencing = true }), section("7", "0"), Fencing, Violated, "", "without a token", ""},
		{"nested holds share it", leased(func(h *Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000
			1 c1 ok count=1 token=5
			2 c1 acquire lease=1000
			3 c1 ok count=2 token=5
			4 c1 release
			5 c1 ok count=1
			6 c1 release
			7 c1 ok`, Fencing, Good, "", "", ""},
		{"nested hold gets a new one", leased(func(h *Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000
			1 c1 ok count=1 token=5
			2 c1 acquire lease=1000
			3 c1 ok count=2 token=6
			4 c1 release
			5 c1 ok count=1`, Fencing, Violated, "", "token 6", ""},
	})
}

func TestOwnershipCountErrors(t *testing.T) {
	run(t, []propertyTest{
		{"deleted by another client", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c2 release
			11   server n1 DEL by=c2
			12   c2 ok
			20   c1 release
			21   c1 fail err=not-held`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"a stored value without identity", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=locked ttl=1000
			2    c1 ok count=1
			10   c2 release
			11   server n1 DEL by=c2
			12   c2 ok`, Ownership, Violated, "", "client-2 deleted the hold of client-1/1", "server log"},
		{"taken over after expiry", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1001 server n1 cause=expiry
			1010 c2 acquire lease=1000
			1011 server n1 SET by=c2 holder=c2 ttl=1000
			1012 c2 ok count=1
			1020 c2 release
			1021 server n1 DEL by=c2
			1022 c2 ok`, Ownership, Good, "", "", "server log"},
		{"no log", leased(nil), "0 c1 acquire lease=1000\n1 c1 ok count=1\n2 c1 release\n3 c1 ok", Ownership, Unknown, "", noServerLog, ""},
		{"first acquire counts 2", leased(nil), `
			0    c1 acquire lease=1000
			1    c1 ok count=2
			2    c1 release
			3    c1 ok count=1`, Count, Violated, "", "returned count 2", ""},
		{"unclear acquire may have counted", leased(nil), `
			0    c1 acquire lease=1000
			1    c1 info err=unknown
			2    c1 acquire lease=1000
			3    c1 ok count=2
			4    c1 release
			5    c1 ok count=1
			6    c1 release
			7    c1 ok`, Count, Good, "", "", ""},
		{"balanced and yet held", leased(nil), `
			0    c1 acquire lease=5000
			1    server n1 EVAL by=c1 holder=c1 ttl=5000
			2    server n1 EVAL by=c1 holder=c1 count=2 ttl=5000
			3    c1 ok count=1
			10   c1 release
			11   server n1 EVAL by=c1 holder=c1 ttl=5000
			12   c1 ok
			3000 end`, Count, Violated, "", "", "server log"},
		{"handed over", leased(nil), handover, Count, Good, "", "", ""},
		{"undocumented class", leased(nil), "0 c1 acquire lease=1\n1 c1 fail err=other msg=boom", Errors, Violated, "", "boom", ""},
		{"released, and told otherwise", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c1 release
			11   server n1 DEL by=c1
			12   c1 fail err=not-held`, Errors, Violated, "", "it had released its hold", "server log"},
		{"granted, and told busy", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 fail err=busy`, Errors, Violated, "", "the servers had granted it", "server log"},
		{"released nothing", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			1001 server n1 cause=expiry
			1100 c1 release
			1101 c1 ok`, Errors, Violated, "", "no server held the lock for it", "server log"},
		{"all in order", leased(nil), handover, Errors, Good, "", "", ""},
		{"keys remain", leased(nil), handover + "\n 900 end keys=stock subs=1", Cleanup, Violated, "", "1 key (stock), 1 subscription", ""},
	})
}

func TestLeaseAndRenewal(t *testing.T) {
	renewed := leased(func(h *Header) { h.Claims.Renewal = true; h.Claims.RenewEvery = 333 * millisecond })
	struck := renewed
	struck.Faults = []PlannedFault{{ID: 1, Fault: "pause"}}
	hold := `
			0    c1 acquire lease=1000 renewed
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			`
	run(t, []propertyTest{
		{"as asked", leased(nil), handover, Lease, Good, "", "", "server log"},
		{"without end", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SETNX by=c1 holder=c1 ttl=-1
			2    c1 ok count=1
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok`, Lease, Violated, "", "without an expiry", "server log"},
		{"without end between two commands", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SETNX by=c1 holder=c1 ttl=-1
			2    server n1 EXPIRE by=c1 holder=c1 ttl=1000
			3    c1 ok count=1
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok`, Lease, Good, "", "", ""},
		{"longer than asked", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=30000
			2    c1 ok count=1`, Lease, Violated, "", "a TTL of 30.000 s", ""},
		{"a nested hold cuts the outer short", leased(nil), `
			0    c1 acquire lease=10000
			1    server n1 EVAL by=c1 holder=c1 ttl=10000
			2    c1 ok count=1
			10   c1 acquire lease=1000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
			12   c1 ok count=2`, Lease, Violated, "", "were still owed", ""},
		{"a nested release gives back its own lease", leased(nil), `
			0    c1 acquire lease=1000
			1    server n1 EVAL by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c1 acquire lease=10000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=10000
			12   c1 ok count=2
			20   c1 release
			21   server n1 EVAL by=c1 holder=c1 count=1 ttl=980
			22   c1 ok count=1
			30   c1 release
			31   server n1 EVAL by=c1
			32   c1 ok`, Lease, Good, "", "", ""},
		{"in time", renewed, hold + `
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			700  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			900  c1 release
			901  server n1 DEL by=c1
			902  c1 ok`, Renewal, Good, "", "", "server log"},
		{"too late", renewed, hold + `
			450  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			500  c1 release
			501  server n1 DEL by=c1
			502  c1 ok`, Renewal, Violated, "", "was not renewed on node-1 for 449 ms", ""},
		{"never", renewed, hold + `
			1001 server n1 cause=expiry
			1100 c1 lost`, Renewal, Violated, "", "was not renewed", ""},
		{"too late because paused", struck, hold + `
			300  fault start 1 pause c1
			800  fault end 1 pause c1
			900  server n1 PEXPIRE by=c1 holder=c1 ttl=1000
			950  c1 release
			951  server n1 DEL by=c1
			952  c1 ok`, Renewal, Good, "", "", ""},
		{"after the release", renewed, hold + `
			100  c1 release
			101  c1 ok
			330  server n1 PEXPIRE by=c1 holder=c1 ttl=1000`, Renewal, Violated, "", "after it had ended", ""},
	})
}

func TestProgressAndFairness(t *testing.T) {
	fair := leased(func(h *Header) { h.Claims.Fairness = true })
	dropped := leased(nil)
	dropped.Faults = []PlannedFault{{ID: 1, Fault: "drop-message"}}
	cut := leased(nil)
	cut.Faults = []PlannedFault{{ID: 1, Fault: "partition"}}
	sleeper := func(fault string) string {
		return `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    c1 ok count=1
			10   c2 acquire lease=1000 wait=9000
			20   ` + fault + `
			100  c1 release
			101  server n1 DEL by=c1
			102  c1 ok
			1500 server n1 SET by=c2 holder=c2 ttl=1000
			1501 c2 ok count=1
			1600 c2 release
			1601 server n1 DEL by=c2
			1602 c2 ok`
	}
	run(t, []propertyTest{
		{"never returns", leased(nil), "0 c1 acquire lease=1000\n9000 end", Progress, Violated, "", "never returned", ""},
		{"crashed, so need not return", leased(nil), "0 c1 acquire lease=1000\n1 c1 crash\n9000 c2 acquire lease=1000\n9001 c2 ok count=1\n9100 c2 release\n9101 c2 ok", Progress, Good, "", "", ""},
		{"overruns its wait", leased(nil), "0 c1 acquire lease=1000 wait=100\n1101 c1 fail err=canceled", Progress, Violated, "", "returned 1.001 s late", ""},
		{"just in time", leased(nil), "0 c1 acquire lease=1000 wait=100\n1100 c1 ok count=1\n1101 c1 release\n1102 c1 ok", Progress, Good, "", "", ""},
		{"sleeps on a free lock", dropped, sleeper("fault start 1 drop-message c2 n1"), Progress, Violated, "", "slept on a free lock", "server log"},
		{"cut off meanwhile", cut, sleeper("fault start 1 partition c2 n1"), Progress, Good, "", "", ""},
		{"waits for nobody", leased(nil), "0 c1 acquire lease=1000 wait=9000\n4000 c1 ok count=1", Progress, Violated, "", "while nobody held the lock", ""},
		{"panics", leased(nil), "0 c1 acquire lease=1000\n1 c1 panic msg=nil-map", Progress, Violated, "", "nil-map", ""},
		{"overtaken", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			100 c3 acquire lease=1000 wait=900
			200 c1 release
			201 c1 ok
			202 c3 ok count=1
			203 c3 release
			204 c3 ok
			205 c2 ok count=1`, Fairness, Violated, "", "client-3/1 was granted the lock", ""},
		{"in order", fair, `
			0   c1 acquire lease=1000
			1   c1 ok count=1
			10  c2 acquire lease=1000 wait=900
			40  c3 acquire lease=1000 wait=900
			200 c1 release
			201 c1 ok
			202 c3 ok count=1
			203 c3 release
			204 c3 ok
			205 c2 ok count=1`, Fairness, Good, "", "", ""},
	})
}
