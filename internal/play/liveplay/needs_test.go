package liveplay

import (
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// words lists what is needed, in the order of its fields.
func (n needs) words() string {
	var all []string
	v := reflect.ValueOf(n)
	for i := range v.NumField() {
		if v.Field(i).Bool() {
			all = append(all, v.Type().Field(i).Name)
		}
	}
	return strings.Join(all, " ")
}

// calls has the needs of the scenarios of the catalogue in the real world with any lock;
// those that are not here call for one server of a group, and no more.
var calls = map[string]string{
	"failover-lost-write":              "replicas sentinels persist",
	"failover-one-acked-of-two":        "replicas sentinels persist",
	"leader-failover":                  "replicas sentinels persist",
	"isolated-primary":                 "replicas sentinels persist",
	"fence-rollback":                   "replicas sentinels persist",
	"fence-rollback-clock-behind":      "replicas sentinels persist clocks",
	"cluster-failover":                 "replicas persist",
	"unconfirmed-acquire":              "replicas",
	"clock-jump":                       "clocks",
	"clock-drift":                      "clocks",
	"drift-then-cut":                   "clocks",
	"redlock-clock-jump":               "clocks",
	"client-clock-ahead":               "wall",
	"client-clock-behind":              "wall",
	"client-clock-jumps-while-holding": "wall",
	"client-clock-jumps-while-waiting": "wall",
	"client-clock-steps-back":          "wall",
	"renewal-hiccup":                   "persist",
	"down-at-release":                  "persist",
	"crash-between-commands":           "moments",
	"check-then-delete":                "moments",
	"check-then-delete-soon":           "moments",
	"lost-acquire-reply":               "moments",
	"lost-nested-reply":                "moments",
	"lost-release-reply":               "moments",
	"cancelled-acquire":                "moments",
	"cancelled-inner-acquire":          "moments",
	"cancelled-try":                    "moments",
	"pause-in-acquire":                 "moments",
	"broken-acquire":                   "moments",
	"broken-second-request":            "moments",
	"broken-subscribe":                 "moments",
	"lost-inner-release-reply":         "moments",
	"slow-acquire-then-cut":            "moments",
	"unheard-grant":                    "moments",
	"many-hiccups":                     "persist",
	"refusals-outlast-lease":           "persist",
	"pause-between-commands":           "moments",
	"late-token":                       "moments",
	"late-renewal":                     "moments",
	"no-channels":                      "user",
	"no-right-to-expire":               "user",
	"no-memory":                        "user",
	"late-undo":                        "moments",
	"late-take-over":                   "moments",
	"check-then-renew":                 "moments",
	"renewal-after-release":            "moments",
	"slow-grant-reply":                 "moments",
	"late-own-release":                 "moments",
	"late-beside-another":              "moments",
	"broken-replies":                   "moments",
	"asked-again":                      "moments",
	"paused-waiters":                   "moments",
	"cut-off-waiters":                  "moments",
	"cancelled-waiters":                "moments",
	"unheard-later-grant":              "moments",
	"refused-take-back":                "moments",
	"unheard-renewals":                 "moments",
	"outer-lease-ends":                 "moments",
	"unanswered-longer-lease":          "moments",
	"undone-grant":                     "moments",
	"queue-lost-with-primary":          "replicas sentinels persist moments",
	"two-nodes-held":                   "replicas", // those of every cluster
	"resharding":                       "replicas",
}

// Every server costs time to start, and what a scenario needs and does not get
// makes its faults fail.
func TestScenariosGetWhatTheyNeedAndNoMore(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		for _, name := range locks.Names() {
			tested := locks.MustFind(name)
			want := calls[s.Name]
			if tested.Acks && !strings.Contains(want, "replicas") { // there must be one to wait for
				want = strings.TrimSpace("replicas " + want)
			}
			n := needsOf(s, tested)
			if got := n.words(); got != want {
				t.Errorf("%s with %s needs %q, want %q", s.Name, tested.Name(), got, want)
			}
			replicas := s.Topology.Replicas
			if !strings.Contains(want, "replicas") {
				replicas = 0
			}
			if top := liveTopology(s, tested, n, nil); top.Replicas != replicas || top.World != "live" || top.Groups != max(tested.Groups, s.Topology.Groups) {
				t.Errorf("%s with %s gets %+v", s.Name, tested.Name(), top)
			}
		}
	}
}

// A fault that names a replica needs it, whatever the fault is.
func TestFaultsOnReplicasNeedThem(t *testing.T) {
	for _, fault := range []string{
		"{fault: pause, target: client-1, at: 1s, for: 1s}",
		"{fault: partition, target: client-1, peer: node-1-replica-1, at: 1s}",
		"{fault: node-restart, target: node-1-replica-1, data: lose, at: 1s, for: 1s}",
		"{fault: cut-replication, target: node-1, at: 1s}",
		"{fault: replication-lag, target: node-1, by: 1s, at: 1s}",
		"{fault: crash, target: client-1, on: {moment: executed, node: node-1-replica-1}}",
		"{fault: crash, target: client-1, on: {moment: received, node: node-1}}",
	} {
		s := parse(t, "10s", "faults: ["+fault+"]")
		tested, err := locks.Find("reentrant")
		must.Succeed(t, err)
		n := needsOf(s, tested)
		if want := strings.Contains(fault, "replica"); n.replicas != want {
			t.Errorf("%s: replicas are needed: %v", fault, n.replicas)
		}
		if want := strings.Contains(fault, "executed") || strings.Contains(fault, "received"); n.moments != want {
			t.Errorf("%s: moments are needed: %v", fault, n.moments)
		}
	}
}

// A lock that waits for more replicas than there are would never be granted.
func TestAcksNeedReplicas(t *testing.T) {
	s := &scenarios.Scenario{Topology: scenarios.Topology{Clients: 1, Replicas: 1}, Workload: scenarios.Workload{Acks: 2}}
	if ok, why := s.Applies(locks.MustFind("reentrant-wait")); ok || why != "it waits for 2 replicas, and there are 1" {
		t.Errorf("%v, %q", ok, why)
	}
	if ok, why := s.Applies(locks.MustFind("reentrant")); !ok {
		t.Errorf("a lock that does not wait: %s", why)
	}
	s.Topology.Replicas = 2
	if ok, why := s.Applies(locks.MustFind("reentrant-wait")); !ok {
		t.Errorf("with two replicas: %s", why)
	}
}
