package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// A run that is played faster has less to be forgiven, and never so little
// that the machine it runs on decides.
func TestAllowancesFollowThePace(t *testing.T) {
	tests := []struct {
		name string
		h    history.Header
		want allowances
	}{
		{"as written", history.Header{World: "sim"}, allowances{second, second, 5 * second, second, 3 * second, millisecond, 0, 100 * millisecond}},
		{"a fifth", history.Header{World: "live", TimeScale: 0.2},
			allowances{200 * millisecond, 200 * millisecond, second, 200 * millisecond, 600 * millisecond, 5 * millisecond, 150 * millisecond, 100 * millisecond}},
		{"as fast as it gets", history.Header{World: "live", TimeScale: 0.01},
			allowances{150 * millisecond, 200 * millisecond, 500 * millisecond, 200 * millisecond, 30 * millisecond, 5 * millisecond, 150 * millisecond, 100 * millisecond}},
		{"over a slow network", history.Header{World: "sim", Latency: 20 * millisecond}, allowances{second, second, 5 * second, second, 3 * second, millisecond, 0, 260 * millisecond}},
		{"slowly", history.Header{World: "live", TimeScale: 2}, allowances{2 * second, 2 * second, 10 * second, 2 * second, 6 * second, 5 * millisecond, 600 * millisecond, 100 * millisecond}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := allowancesOf(&tt.h); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// A renewal that opens a connection and sends its script takes many messages. On a slow
// network it is late by them, and a broken connection may cost it a pause.
func TestRenewalMayTakeItsMessages(t *testing.T) {
	at := func(latency int64) history.Header {
		return leased(func(h *history.Header) {
			h.Latency, h.Claims.Renewal, h.Claims.RenewEvery = latency, true, 1000*millisecond
		})
	}
	renewed := func(first, at string) string {
		return first + `
		10   c1 acquire lease=3000 renewed
		11   server n1 EVAL by=c1 holder=c1 ttl=3000
		12   c1 ok count=1
		1010 server n1 EVAL by=c1 holder=c1 ttl=3000 was=c1 was_ttl=2001
		` + at + ` server n1 EVAL by=c1 holder=c1 ttl=3000 was=c1 was_ttl=1600
		2700 c1 release
		2701 server n1 EVAL by=c1
		2702 c1 ok`
	}
	reset := `
		1   fault start 1 reset c1 n1
		1   fault end 1 reset c1 n1`
	run(t, []propertyTest{
		{"in time", at(0), renewed("", "2100"), Renewal, OutcomeOK, "", "", ""},
		{"late", at(0), renewed("", "2170"), Renewal, Violated, "", "was not renewed", "server log"},
		{"late by its messages", at(20 * millisecond), renewed("", "2170"), Renewal, OutcomeOK, "", "", ""},
		{"late by a broken connection", at(0), renewed(reset, "2500"), Renewal, OutcomeOK, "", "", ""},
		{"later than that", at(0), renewed(reset, "2630"), Renewal, Violated, "", "was not renewed", "server log"},
	})
}

// Waiters are excused for as long after a fault as the pace of the run asks.
func TestHealingFollowsThePace(t *testing.T) {
	at := func(scale float64) history.Header {
		return leased(func(h *history.Header) { h.TimeScale, h.Claims.Handoff = scale, 100*millisecond })
	}
	waits := func(server, ok string) string {
		return `
		0   c1 takes lease=1000
		3   fault start 1 partition c2 n1
		4   c1 gives
		10  c2 acquire lease=1000 wait=9000
		600 fault end 1 partition c2 n1
		` + server + ` server n1 SET by=c2 holder=c2 ttl=1000
		` + ok + ` c2 ok count=1`
	}
	run(t, []propertyTest{
		{"as written", at(0), waits("1500", "1501"), Progress, OutcomeOK, "", "", ""},
		{"played fast", at(0.1), waits("1500", "1501"), Progress, Violated, "", "slept on a free lock", "server log"},
		{"played fast, in time", at(0.1), waits("950", "951"), Progress, OutcomeOK, "", "", ""},
	})
}
