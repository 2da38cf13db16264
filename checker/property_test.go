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
	500  c1 gives
	600  c2 acquire lease=1000
	601  server n1 SET by=c2 holder=c2 ttl=1000
	602  c2 ok count=1 token=2
	700  c2 gives
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
	if len(r.Verdicts) != len(properties)-3 {
		t.Errorf("%d verdicts, want all but three: renewal, resource and observation are not claimed", len(r.Verdicts))
	}
}

// overtaken has a hold with token 3 that is released before an acquire returns at a
// time with token 2.
func overtaken(at int) string {
	return fmt.Sprintf(`
		0    c1 acquire lease=1000
		2    c2 acquire lease=1000; 4 ok count=1 token=3
		6    c2 release; 8 ok
		%[1]d  c1 ok count=1 token=2
		%[1]d  c1 release
		%[1]d  c1 ok`, at)
}

// The verdict names the function in which a goroutine or a thread is left, which a reader
// can look up. It does not use the runtime's word for its state.
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
