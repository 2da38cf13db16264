package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// leased builds the header of a test history.
func leased(change func(*history.Header)) history.Header {
	h := history.Header{Claims: history.Terms{Claims: history.Claims{Reentrant: true, Lease: true}, Quorum: 1, Nodes: 1, Handoff: int64(second)}}
	if change != nil {
		change(&h)
	}
	return h
}

// majorityOf is the header of a lock on a majority of some servers.
func majorityOf(nodes int) history.Header {
	return leased(func(h *history.Header) { h.Claims.Nodes, h.Claims.Quorum, h.Claims.Reentrant = nodes, nodes/2+1, false })
}

type propertyTest struct {
	name     string
	header   history.Header
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
			if r.Vacuous != "" && tt.want == OutcomeOK {
				t.Fatalf("vacuous: %s", r.Vacuous)
			}
			if v.Outcome != tt.want || v.Class != tt.class || !strings.Contains(v.Reason, tt.reason) {
				t.Fatalf("got %+v, want %s %q with %q", v, tt.want, tt.class, tt.reason)
			}
			if tt.evidence != "" && v.Evidence != tt.evidence {
				t.Errorf("evidence is %q, want %q", v.Evidence, tt.evidence)
			}
			if v.Outcome == Violated && v.Reason == "" || len(v.Ops) > linear.MaxCause {
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
	h := story(t, leased(func(h *history.Header) { h.Claims.Fencing, h.Claims.Fairness = true, true }), handover)
	r, err := Judge(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p, v := range r.Verdicts {
		if v.Outcome != OutcomeOK {
			t.Errorf("%s: %+v", p, v)
		}
	}
	if len(r.Verdicts) != 10 {
		t.Errorf("%d verdicts, want 10: renewal and resource are not claimed", len(r.Verdicts))
	}
}

func TestExclusion(t *testing.T) {
	quorum := majorityOf(3)
	run(t, []propertyTest{
		{"granted after an early round was given back", quorum, `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    server n2 SET by=c1 holder=c1 ttl=1000
			5    server n1 DEL by=c1
			6    server n2 DEL by=c1
			10   c2 acquire lease=1000
			11   server n1 SET by=c2 holder=c2 ttl=1000
			12   server n2 SET by=c2 holder=c2 ttl=1000
			13   c2 ok count=1
			1011 server n1 cause=expiry
			1012 server n2 cause=expiry
			1020 server n1 SET by=c1 holder=c1 ttl=1000
			1021 server n2 SET by=c1 holder=c1 ttl=1000
			1022 c1 ok count=1
			1100 c1 release
			1101 server n1 DEL by=c1
			1102 server n2 DEL by=c1
			1103 c1 ok
			1200 c2 release
			1202 c2 fail err=lost`, Exclusion, Violated, LeaseOutlived, "client-2/1 went on after its lease had ended at 1.01", "server log"},
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
		{"hears of its grant when others hold", leased(nil), `
			0    c1 acquire lease=1000 wait=9000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			1001 server n1 cause=expiry
			1100 c2 acquire lease=1000
			1101 server n1 SET by=c2 holder=c2 ttl=1000
			1102 c2 ok count=1
			1200 c1 ok count=1
			1300 c2 release
			1301 server n1 DEL by=c2
			1302 c2 ok
			1400 c1 release
			1401 c1 fail err=not-held`, Exclusion, Violated, LeaseOutlived, "client-1/1 went on after its lease had ended at 1.001 s", "server log"},
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
			601  c2 ok`, Exclusion, OutcomeOK, "", "", ""},
		{"told in time", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			900  c1 lost
			1500 c2 acquire lease=1000
			1502 c2 ok count=1
			1600 c2 release
			1601 c2 ok`, Exclusion, OutcomeOK, "", "", ""},
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
			41 c3 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"lease ran out", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			1001 c2 acquire lease=1000
			1002 c2 ok count=1
			1100 c1 release
			1101 c1 fail err=not-held
			1200 c2 release
			1201 c2 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"expired too early", leased(nil), `
			0   c1 acquire lease=1000
			2   c1 ok count=1
			900 c2 acquire lease=1000
			902 c2 ok count=1`, Linearizable, Violated, "", "client-2/1 was granted the lock", ""},
		{"released after its lease", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			1100 c1 release
			1101 c1 ok`, Linearizable, Violated, "", "with a lease of 1.000 s, which was over", ""},
		{"renewed, released late", leased(nil), `
			0    c1 acquire lease=1000 renewed
			2    c1 ok count=1
			9100 c1 release
			9101 c1 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"told lost early", leased(nil), `
			0    c1 acquire lease=1000
			2    c1 ok count=1
			100  c1 lost
			200  c1 release
			201  c1 fail err=lost`, Linearizable, Violated, "", "while its lease still ran", ""},
		{"told lost within the declared margin", leased(func(h *history.Header) { h.Claims.Margin = int64(second) / 10 }), `
			0    c2 acquire lease=1000
			1    c2 ok count=1
			2    c2 release
			3    c2 ok
			10   c1 acquire lease=1000
			12   c1 ok count=1
			920  c1 lost
			921  c1 release
			922  c1 fail err=lost`, Linearizable, OutcomeOK, "", "", ""},
		{"told lost before the declared margin", leased(func(h *history.Header) { h.Claims.Margin = int64(second) / 10 }), `
			0    c2 acquire lease=1000
			1    c2 ok count=1
			2    c2 release
			3    c2 ok
			10   c1 acquire lease=1000
			12   c1 ok count=1
			890  c1 lost
			891  c1 release
			892  c1 fail err=lost`, Linearizable, Violated, "", "while its lease still ran", ""},
		{"told lost by its own clock", leased(nil), `
			0    c1 acquire lease=1000
			50   c1 ok count=1
			1000 c1 lost
			1001 c1 release
			1002 c1 fail err=lost
			1100 c2 acquire lease=1000
			1101 c2 ok count=1
			1102 c2 release
			1103 c2 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"nested holds of a lock that has none", leased(func(h *history.Header) { h.Claims.Reentrant = false }), `
			0   c1 acquire lease=1000
			2   c1 ok count=1
			100 c1 acquire lease=1000
			101 c1 ok count=1`, Linearizable, Violated, "", "", ""},
		{"told lost by its own clock, the servers having granted later", leased(nil), `
			0    c1 acquire lease=1000
			40   server n1 SET by=c1 holder=c1 ttl=1000
			50   c1 ok count=1
			990  c1 lost
			991  c1 release
			992  c1 fail err=lost
			1040 server n1 cause=expiry
			1100 c2 acquire lease=1000
			1101 c2 ok count=1
			1102 c2 release
			1103 c2 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"a try that took it for a while", leased(nil), `
			0  c1 acquire lease=1000
			5  c2 acquire lease=1000
			6  c2 fail err=busy
			10 c1 fail err=no-acks
			11 c3 acquire lease=1000
			12 c3 ok count=1
			13 c3 release
			14 c3 ok`, Linearizable, OutcomeOK, "", "", ""},
		{"legal for the clients, not by the servers", leased(nil), `
			0   c1 acquire lease=1000
			1   server n1 SET by=c1 holder=c1 ttl=1000
			2   c1 ok count=1
			10  c2 acquire lease=1000 wait=3000
			20  c3 acquire lease=1000 wait=3000
			50  c1 release
			51  server n1 DEL by=c1
			52  c1 ok
			1400 server n1 SET by=c2 holder=c2 ttl=1000
			1401 c2 ok count=1
			1500 server n1 DEL by=c3
			1600 server n1 SET by=c3 holder=c3 ttl=1000
			1601 c3 ok count=1
			1700 end`, Linearizable, Violated, "", "client-3/1 was granted the lock", "server log"},
		{"unclear release, then another holder", leased(nil), `
			0  c1 acquire lease=1000
			2  c1 ok count=1
			5  c1 release
			6  c1 info err=unknown
			10 c2 acquire lease=1000
			12 c2 ok count=1
			13 c2 release
			14 c2 ok`, Linearizable, OutcomeOK, "", "", ""},
	})
}

// overtaken has a hold with token 3 that is released before an acquire returns at a
// time with token 2.
func overtaken(at int) string {
	return fmt.Sprintf(`
		0    c1 acquire lease=1000
		2    c2 acquire lease=1000
		4    c2 ok count=1 token=3
		6    c2 release
		8    c2 ok
		%[1]d  c1 ok count=1 token=2
		%[1]d  c1 release
		%[1]d  c1 ok`, at)
}

func TestResourceAndFencing(t *testing.T) {
	guarded := leased(func(h *history.Header) { h.Resource = &history.Resource{Initial: 10}; h.Claims.Fencing = true })
	fenced := leased(func(h *history.Header) {
		h.Resource = &history.Resource{Initial: 10, Fenced: true}
		h.Claims.Fencing = true
	})
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
			17 c2 ok value=9`, ResourceSafe, OutcomeOK, "", "", ""},
		{"stale write accepted", fenced, section("1", "2") + `
			10 c1 read
			11 c1 ok value=10
			14 c2 write value=9 base=10 token=2
			15 c2 ok value=10
			16 c1 write value=8 base=9 token=1
			17 c1 ok value=9`, ResourceSafe, Violated, "", "token 1 was accepted", ""},
		{"tokens grow", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "8"), Fencing, OutcomeOK, "", "", ""},
		{"token repeats", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "7"), Fencing, Violated, "", "token 7", ""},
		{"token goes back", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "3"), Fencing, Violated, "", "token 3", ""},
		{"token behind several", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "9") + `
			8   c3 acquire lease=1000
			9   c3 ok count=1 token=7
			10  c3 release
			11  c3 ok`, Fencing, Violated, "", "with token 7; the highest token before was 9, of client-2/1 at 0.005 s", ""},
		{"token of an earlier hold", leased(func(h *history.Header) { h.Claims.Fencing = true }), overtaken(500), Fencing, Violated, "",
			"with token 2; the highest token before was 3, of client-2/1 at 0.004 s", ""},
		{"token of a hold that may have ended", leased(func(h *history.Header) { h.Claims.Fencing = true }), overtaken(1500), Fencing, OutcomeOK, "", "", ""},
		{"no token", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "0"), Fencing, Violated, "", "without a token", ""},
		{"nested holds share it", leased(func(h *history.Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000
			1 c1 ok count=1 token=5
			2 c1 acquire lease=1000
			3 c1 ok count=2 token=5
			4 c1 release
			5 c1 ok count=1
			6 c1 release
			7 c1 ok`, Fencing, OutcomeOK, "", "", ""},
		{"nested hold gets a new one", leased(func(h *history.Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000
			1 c1 ok count=1 token=5
			2 c1 acquire lease=1000
			3 c1 ok count=2 token=6
			4 c1 release
			5 c1 ok count=1`, Fencing, Violated, "", "token 6", ""},
	})
}

// What a goroutine or a thread is left in is told by the function that somebody can
// look up, not by what the runtime calls its state.
func TestThreadInWords(t *testing.T) {
	for stack, want := range map[string]string{
		"goroutine [select (durable)]\nexample.com/mylock.(*Mutex).watch\n\tlock.go:93\ncreated by example.com/mylock.(*Mutex).Lock\n\tlock.go:74":                  "example.com/mylock.(*Mutex).watch at lock.go:93",
		"goroutine [chan receive]\nruntime.gopark\n\tproc.go:1\nmain.wait\n\tmain.go:7":                                                                             "main.wait at main.go:7",
		"redisson-timer-4-1\n\tat java.base@17.0.15/jdk.internal.misc.Unsafe.park(Native Method)\n\tat io.netty.util.HashedWheelTimer.run(HashedWheelTimer.java:5)": "redisson-timer-4-1 at io.netty.util.HashedWheelTimer.run(HashedWheelTimer.java:5)",
		"pool-1\n\tat java.lang.Thread.sleep(Native Method)":                                                                                                        "pool-1",
		"client-1 did not close its lock": "client-1 did not close its lock",
	} {
		if got := inWords(stack); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
