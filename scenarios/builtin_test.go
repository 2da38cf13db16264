package scenarios

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
)

// On a slow network a lock that renews in time must not be told off for the
// messages that it takes; on an ordinary one the promise is what it says.
func TestRenewalClaimAllowsForASlowNetwork(t *testing.T) {
	for _, tt := range []struct{ latency, want time.Duration }{
		{900 * time.Microsecond, 2 * time.Second},
		{14 * time.Millisecond, 2 * time.Second},
		{30 * time.Millisecond, 2110 * time.Millisecond},
	} {
		s := &Scenario{Workload: Workload{Lease: faults.Duration(6 * time.Second)}}
		s.Topology.Latency.Max = faults.Duration(tt.latency)
		if got := time.Duration(referenceClaims(s).RenewEvery); got != tt.want {
			t.Errorf("with messages of up to %v: every %v, want %v", tt.latency, got, tt.want)
		}
	}
}
