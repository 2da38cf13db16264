package spacetime

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
)

const ms = int64(1e6)

func server(at int64, node, role, cause, by, was, now string, ttl int64) history.Event {
	return history.Event{Time: at, Kind: history.Server, Server: &history.ServerEvent{
		Node: node, Role: role, Key: "stock", Cause: cause, By: by, WasHolder: was, Holder: now, TTL: ttl,
	}}
}

func op(at int64, kind history.Kind, id int64, f history.Func, client string) history.Event {
	return history.Event{Time: at, Kind: kind, Op: id, F: f, Client: client, Owner: client + "/1", Lock: "stock", Args: &history.Args{}, Result: &history.Result{}}
}

// failover is a grant that reaches no replica before the promotion.
func failover() *history.History {
	return &history.History{
		Header: history.Header{Latency: 2 * ms, Faults: []history.PlannedFault{{ID: 2, Traits: history.Traits{Promotes: true, Instant: true}}}},
		Events: []history.Event{
			op(1*ms, history.Invoke, 1, history.Acquire, "client-1"),
			server(2*ms, "node-1", "primary", "command", "client-1", "", "client-1/1", 1000*ms),
			op(3*ms, history.OK, 1, history.Acquire, "client-1"),
			{Time: 50 * ms, Kind: history.Fault, Fault: &history.FaultEvent{ID: 2, Name: "failover", Phase: history.PhaseStart, Targets: []string{"node-1"}, Detail: "node-1 crashed, node-1-replica-1 promoted"}},
			op(60*ms, history.Invoke, 2, history.Acquire, "client-2"),
			server(61*ms, "node-1-replica-1", "primary", "command", "client-2", "", "client-2/1", 1000*ms),
			server(62*ms, "node-1", "replica", "replication", "", "client-1/1", "", 0),
			server(62*ms, "node-1", "replica", "replication", "", "", "client-2/1", 999*ms),
			op(63*ms, history.Info, 2, history.Acquire, "client-2"),
			{Time: 90 * ms, Kind: history.End, End: &history.EndEvent{}},
		},
	}
}

// The picture shows why a failover loses a grant: the promotion, and the
// replication that never arrived.
func TestALostGrantIsALostArrow(t *testing.T) {
	p := Of(failover())
	if r := p.Roles["node-1-replica-1"]; len(r) != 2 || r[0].Primary || !r[1].Promoted || r[1].From != 50*ms {
		t.Errorf("roles of the replica: %+v", r)
	}
	if r := p.Roles["node-1"]; len(r) != 2 || !r[0].Primary || r[1].Primary || r[1].From != 62*ms {
		t.Errorf("roles of the old primary: %+v", r)
	}
	want := []Arrow{
		{Kind: Request, From: "client-1", To: "node-1", Owner: "client-1/1", Key: "stock", Sent: 1 * ms, Arrived: 2 * ms, Grants: "client-1/1", Op: 1},
		{Kind: Reply, From: "node-1", To: "client-1", Owner: "client-1/1", Key: "stock", Sent: 2 * ms, Arrived: 3 * ms, Grants: "client-1/1", Op: 1},
		{Kind: Replication, From: "node-1", To: "node-1-replica-1", Key: "stock", Sent: 2 * ms, Arrived: 50 * ms, Lost: true, Grants: "client-1/1"},
		{Kind: Request, From: "client-2", To: "node-1-replica-1", Owner: "client-2/1", Key: "stock", Sent: 60 * ms, Arrived: 61 * ms, Grants: "client-2/1", Op: 2},
		{Kind: Reply, From: "node-1-replica-1", To: "client-2", Owner: "client-2/1", Key: "stock", Sent: 61 * ms, Arrived: 63 * ms, Lost: true, Grants: "client-2/1", Op: 2},
	}
	for i, a := range p.Arrows {
		if i >= len(want) || a != want[i] {
			t.Errorf("arrow %d: %+v", i, a)
		}
	}
	if len(p.Arrows) != len(want) {
		t.Errorf("%d arrows, want %d", len(p.Arrows), len(want))
	}
}

// A change that reaches a replica before the promotion is not lost.
func TestADeliveredGrantArrives(t *testing.T) {
	h := failover()
	h.Events = append(h.Events[:3:3], append([]history.Event{server(4*ms, "node-1-replica-1", "replica", "replication", "", "", "client-1/1", 999*ms)}, h.Events[3:]...)...)
	for _, a := range Of(h).Arrows {
		if a.Kind == Replication && (a.Lost || a.Arrived != 4*ms) {
			t.Errorf("%+v", a)
		}
	}
}

// A renewed lease ends when its last renewal says.
func TestALeaseEndsWhereItsLastRenewalPutIt(t *testing.T) {
	h := failover()
	h.Events = append(h.Events[:3:3], append([]history.Event{server(40*ms, "node-1", "primary", "command", "client-1", "client-1/1", "client-1/1", 1000*ms)}, h.Events[3:]...)...)
	p := Of(h)
	hold := &checker.Belief{Owner: "client-1/1", From: 3 * ms, To: 80 * ms, Lease: 1000 * ms}
	if got := p.LeaseEnd(hold); got != 1040*ms {
		t.Errorf("ends at %d ms", got/ms)
	}
	if got := p.LeaseEnd(&checker.Belief{Owner: "nobody", From: 3 * ms, To: 80 * ms}); got != 0 {
		t.Errorf("a hold without a lease ends at %d", got)
	}
}
