package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Pictures draw the lease that the verdict reckons with: from the server's grant, not
// from the answer, and with the renewals.
func TestTheLeaseOfABelief(t *testing.T) {
	const late = `
		0    c1 acquire lease=1000
		3    server n1 SET by=c1 holder=c1 ttl=1000
		500  c1 ok count=1`
	inner := func(answer string) string {
		return `
			600  c1 acquire lease=20000
			600  server n1 SET by=c1 holder=c1 ttl=20000
			2000 c1 fail err=` + answer + `
			2001 server n1 DEL by=c1
			2500 c1 release; 2501 fail err=not-held`
	}
	for _, tt := range []struct {
		what, story string
		from, to    int64 // in ms
	}{
		{"an answer that comes late", late, 3, 1003},
		{"a renewal", late + "\n600 server n1 PEXPIRE by=c1 holder=c1 ttl=1000", 3, 1600},
		{"a release in between", late + `
			600 c1 gives`, 3, 1003},
		{"an inner hold that the lock gives back after it has reported the loss", late + inner("lost"), 3, 2001},
		{"an inner hold that the lock gives back for no reason", late + inner("busy"), 3, 20600},
		{"no server log", "0 c1 acquire lease=1000\n500 c1 ok count=1", 500, 1500},
		{"no lease", "0 c1 acquire\n3 server n1 SET by=c1 holder=c1 ttl=-1\n5 c1 ok count=1", 0, 0},
		{"another owner whose name begins alike", late + `
			600 c1.12 acquire lease=5000
			602 c1 release
			603 server n1 DEL by=c1
			604 server n1 SET by=c1 holder=c1.12 ttl=5000
			605 c1 ok
			606 c1.12 ok count=1`, 3, 1003},
	} {
		h := story(t, leased(func(h *history.Header) { h.Claims.Renewal = false }), tt.story)
		b := Beliefs(h)[0]
		if b.LeaseFrom != tt.from*millisecond || b.LeaseTo != tt.to*millisecond {
			t.Errorf("%s: the lease runs from %s to %s, want %d to %d ms", tt.what, at(b.LeaseFrom), at(b.LeaseTo), tt.from, tt.to)
		}
	}
}

// A fault without an end lasts to the end of the history, and an instant one is over at
// once.
func TestStrikes(t *testing.T) {
	h := story(t, leased(func(*history.Header) {}), `
		10 fault start 1 partition c1
		20 fault start 2 crash c1
		30 fault start 3 partition c2
		40 fault end 3 partition c2
		90 c2 acquire; 100 fail err=busy`)
	var got [][2]int64
	for _, s := range h.Strikes() {
		got = append(got, [2]int64{s.From / millisecond, s.To / millisecond})
	}
	want := [][2]int64{{10, h.Events[len(h.Events)-1].Time / millisecond}, {20, 20}, {30, 40}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("strikes are %v, want %v", got, want)
	}
}
