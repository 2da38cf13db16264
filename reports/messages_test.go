package reports

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/story"
)

const ms = int64(1e6)

func changed(at int64, node, role, cause, by, was, now string, ttl int64) history.Event {
	return history.Event{Time: at, Kind: history.Server, Server: &history.ServerEvent{
		Node: node, Role: role, Key: "stock", Cause: cause, By: by, WasHolder: was, Holder: now, TTL: ttl,
	}}
}

func event(at int64, kind history.Kind, id int64, f history.Func, client string) history.Event {
	return history.Event{Time: at, Kind: kind, Op: id, F: f, Client: client, Owner: client + "/1", Lock: "stock", Args: &history.Args{}, Result: &history.Result{}}
}

// failover is a grant that reaches no replica before the promotion.
func failover() *history.History {
	return &history.History{
		Header: history.Header{Latency: 2 * ms, Faults: []history.PlannedFault{{ID: 2, Traits: history.Traits{Promotes: true, Instant: true}}}},
		Events: []history.Event{
			event(1*ms, history.Invoke, 1, history.Acquire, "client-1"),
			changed(2*ms, "node-1", "primary", "command", "client-1", "", "client-1/1", 1000*ms),
			event(3*ms, history.OK, 1, history.Acquire, "client-1"),
			{Time: 50 * ms, Kind: history.Fault, Fault: &history.FaultEvent{ID: 2, Name: "failover", Phase: history.PhaseStart, Targets: []string{"node-1"}, Promoted: "node-1-replica-1"}},
			event(60*ms, history.Invoke, 2, history.Acquire, "client-2"),
			changed(61*ms, "node-1-replica-1", "primary", "command", "client-2", "", "client-2/1", 1000*ms),
			changed(62*ms, "node-1", "replica", "replication", "", "client-1/1", "", 0),
			changed(62*ms, "node-1", "replica", "replication", "", "", "client-2/1", 999*ms),
			event(63*ms, history.Info, 2, history.Acquire, "client-2"),
			{Time: 90 * ms, Kind: history.End, End: &history.EndEvent{}},
		},
	}
}

// The picture shows why a failover loses a grant: the promotion, and the
// replication that never arrived.
func TestALostGrantIsALostArrow(t *testing.T) {
	f := story.NewFacts(failover())
	if r := f.Roles["node-1-replica-1"]; len(r) != 2 || r[0].Primary || !r[1].Promoted || r[1].From != 50*ms {
		t.Errorf("roles of the replica: %+v", r)
	}
	if r := f.Roles["node-1"]; len(r) != 2 || !r[0].Primary || r[1].Primary || r[1].From != 62*ms {
		t.Errorf("roles of the old primary: %+v", r)
	}
	want := []message{
		{kind: request, from: "client-1", to: "node-1", owner: "client-1/1", key: "stock", sent: 1 * ms, arrived: 2 * ms, grants: "client-1/1", op: 1},
		{kind: reply, from: "node-1", to: "client-1", owner: "client-1/1", key: "stock", sent: 2 * ms, arrived: 3 * ms, grants: "client-1/1", op: 1},
		{kind: replication, from: "node-1", to: "node-1-replica-1", key: "stock", sent: 2 * ms, arrived: 50 * ms, lost: true, grants: "client-1/1"},
		{kind: request, from: "client-2", to: "node-1-replica-1", owner: "client-2/1", key: "stock", sent: 60 * ms, arrived: 61 * ms, grants: "client-2/1", op: 2},
		{kind: reply, from: "node-1-replica-1", to: "client-2", owner: "client-2/1", key: "stock", sent: 61 * ms, arrived: 63 * ms, lost: true, grants: "client-2/1", op: 2},
	}
	got := messagesIn(f.History, f.Roles)
	for i, a := range got {
		if i >= len(want) || a != want[i] {
			t.Errorf("arrow %d: %+v", i, a)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d arrows, want %d", len(got), len(want))
	}
}

// A change that reaches a replica before the promotion is not lost.
func TestADeliveredGrantArrives(t *testing.T) {
	h := failover()
	h.Events = append(h.Events[:3:3], append([]history.Event{changed(4*ms, "node-1-replica-1", "replica", "replication", "", "", "client-1/1", 999*ms)}, h.Events[3:]...)...)
	f := story.NewFacts(h)
	for _, a := range messagesIn(h, f.Roles) {
		if a.kind == replication && (a.lost || a.arrived != 4*ms) {
			t.Errorf("%+v", a)
		}
	}
}

// A change of the server belongs to the owner that it names, and not to one whose name
// begins alike.
func TestAMessageBelongsToOneOwner(t *testing.T) {
	of := func(thread string, e history.Event) history.Event {
		e.Owner = "client-1/" + thread
		return e
	}
	h := &history.History{Events: []history.Event{
		of("1", event(1*ms, history.Invoke, 1, history.Acquire, "client-1")),
		of("12", event(2*ms, history.Invoke, 2, history.Acquire, "client-1")),
		changed(3*ms, "node-1", "primary", "command", "client-1", "", "client-1/12", 1000*ms),
		of("12", event(4*ms, history.OK, 2, history.Acquire, "client-1")),
		of("1", event(9*ms, history.Fail, 1, history.Acquire, "client-1")),
		{Time: 10 * ms, Kind: history.End, End: &history.EndEvent{}},
	}}
	for _, m := range messagesIn(h, nil) {
		if m.owner != "client-1/12" || m.op != 2 {
			t.Errorf("%+v", m)
		}
	}
}
