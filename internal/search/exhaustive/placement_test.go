package exhaustive

import (
	"testing"

	"github.com/holdfast-go/holdfast/faults"
)

// A failover changes the roles of a primary and its replicas. So a fault of one may
// undo what a fault of another did, and their order counts.
func TestTouch(t *testing.T) {
	on := func(names ...string) faults.Spec { return faults.Spec{Target: names} }
	for _, tt := range []struct {
		name string
		a, b faults.Spec
		want bool
	}{
		{"the same client", on("client-1"), on("client-1"), true},
		{"two clients", on("client-1"), on("client-10"), false},
		{"a client and a server", on("client-1"), on("node-1"), false},
		{"a primary and its replica", on("node-1"), on("node-1-replica-1"), true},
		{"two primaries", on("node-1"), on("node-2-replica-1"), false},
		{"a link and its server", faults.Spec{Target: faults.Names{"client-1"}, Peer: faults.Names{"node-2"}}, on("node-2"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := touch(tt.a, tt.b); got != tt.want {
				t.Errorf("touch: %v, want %v", got, tt.want)
			}
			if got := touch(tt.b, tt.a); got != tt.want {
				t.Errorf("the other way round: %v, want %v", got, tt.want)
			}
		})
	}
}

// No node takes over from a replica, until a failover has made it the primary.
func TestAbsent(t *testing.T) {
	failover := func(target string) faults.Spec { return faults.Spec{Fault: "failover", Target: faults.Names{target}} }
	cancel := faults.Spec{Fault: "cancel", Target: faults.Names{"client-1"}}
	for _, tt := range []struct {
		name   string
		before []faults.Spec
		fault  faults.Spec
		busy   []string
		want   bool
	}{
		{"a failover of the primary", nil, failover("node-1"), nil, false},
		{"a failover of a replica", nil, failover("node-1-replica-1"), nil, true},
		{"a failover of a promoted replica", []faults.Spec{failover("node-1")}, failover("node-1-replica-1"), nil, false},
		{"a failover of a replica after a cancel", []faults.Spec{cancel}, failover("node-1-replica-1"), nil, true},
		{"a cancel of an operation", nil, cancel, []string{"client-1"}, false},
		{"a cancel of nothing", nil, cancel, []string{"client-2"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := absent(tt.before, tt.fault, &moment{Busy: tt.busy}); got != tt.want {
				t.Errorf("absent: %v, want %v", got, tt.want)
			}
		})
	}
}
