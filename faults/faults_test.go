package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
)

const sec = Duration(time.Second)

var big = Topology{World: "sim", Clients: 3, Groups: 2, Replicas: 2}

func TestVocabulary(t *testing.T) {
	var names []string
	for _, k := range Vocabulary() {
		names = append(names, k.Name)
		if k.Summary == "" || k.Strike == nil || !slices.Contains([]string{"client", "node", "link"}, k.Target) {
			t.Errorf("%s is not fully described: %+v", k.Name, k)
		}
	}
	if once := slices.Compact(slices.Sorted(slices.Values(names))); !slices.Equal(once, names) {
		t.Errorf("the names are not sorted, or one is there twice: %v", names)
	}
	if _, ok := Lookup("meteor"); ok {
		t.Error("found a fault that is none")
	}
}

// TestStrike pins down the effect of each fault on a world, and how its heal
// undoes that.
func TestStrike(t *testing.T) {
	one := Topology{Clients: 3, Groups: 1}
	pair := Topology{Clients: 3, Groups: 1, Replicas: 1}
	shards := Topology{Clients: 3, Groups: 3, Replicas: 1, Cluster: true}
	for _, tt := range []struct {
		spec         Spec
		in           Topology
		strike, heal string // heal "-" for none
	}{
		{Spec{Fault: "pause", Target: Names{"client-2", "client-1"}}, one, "pause client-2; pause client-1", "resume client-2; resume client-1"},
		{Spec{Fault: "crash", Target: Names{"client-2"}}, one, "crash client-2", "-"},
		{Spec{Fault: "cancel", Target: Names{"client-2"}}, one, "cancel client-2", "-"},
		{Spec{Fault: "node-crash", Target: Names{"primary", "node-1"}}, one, "stop node-1", "start node-1 true"},
		{Spec{Fault: "node-restart", Target: Names{"node-1"}, Data: "lose"}, one, "stop node-1; start node-1 false", "-"},
		{Spec{Fault: "node-restart", Target: Names{"node-1"}, Data: "keep", For: sec}, one, "stop node-1", "start node-1 true"},
		{Spec{Fault: "clock-jump", Target: Names{"node-1"}, By: -5 * sec}, one, "clock node-1 -5s 1", "-"},
		{Spec{Fault: "clock-drift", Target: Names{"node-1"}, Rate: 1.5}, one, "clock node-1 0s 1.5", "clock node-1 0s 1"},
		{Spec{Fault: "clock-jump", Target: Names{"client-2", "client-1"}, By: 5 * sec}, one, "clock client-2 5s 1; clock client-1 5s 1", "-"},
		{Spec{Fault: "clock-drift", Target: Names{"client-1"}, Rate: 0.5}, one, "clock client-1 0s 0.5", "clock client-1 0s 1"},
		{Spec{Fault: "script-flush", Target: Names{"primary"}}, one, "flush node-1", "-"},
		{Spec{Fault: "deny", Target: Names{"primary"}}, one, "deny node-1 [SUBSCRIBE PSUBSCRIBE SSUBSCRIBE PUBLISH SPUBLISH]", "allow node-1"},
		{Spec{Fault: "deny", Target: Names{"node-1", "node-2"}, Mode: "memory"}, big, "fill node-1; fill node-2", "free node-1; free node-2"},
		{Spec{Fault: "half-open", Target: Names{"client-1"}, Mode: "silent"}, one, "half-open node-1 client-1 node-1", "-"},
		{Spec{Fault: "delete-key", Target: Names{"node-1"}}, one, "delete node-1", "-"},
		{Spec{Fault: "failover", Target: Names{"node-1"}}, pair, "prefer node-1-replica-1; stop node-1; promote node-1-replica-1", "-"},
		{Spec{Fault: "failover", Target: Names{"primary"}, For: sec}, pair, "prefer node-1-replica-1; stop node-1; promote node-1-replica-1", "start node-1 true; follow node-1"},
		{Spec{Fault: "failover", Target: Names{"node-1"}, Mode: "planned"}, pair, "hand over node-1-replica-1", "-"},
		{Spec{Fault: "failover", Target: Names{"node-1"}, Mode: "isolate", To: "node-1-replica-2"}, big, "promote node-1-replica-2", "-"},
		{Spec{Fault: "move-slots", Target: Names{"primary"}, To: "node-2"}, shards, "move node-1 node-2 false", "own node-2"},
		{Spec{Fault: "move-slots", Target: Names{"node-3"}, To: "node-1", Mode: "keys-first"}, shards, "move node-3 node-1 true", "own node-1"},
		{Spec{Fault: "partition", Target: Names{"client-1"}}, pair,
			"attach Hold client-1 node-1 upstream; attach Hold client-1 node-1 downstream; " +
				"attach Hold client-1 node-1-replica-1 upstream; attach Hold client-1 node-1-replica-1 downstream",
			"detach Hold client-1 node-1 upstream; detach Hold client-1 node-1 downstream; " +
				"detach Hold client-1 node-1-replica-1 upstream; detach Hold client-1 node-1-replica-1 downstream"},
		{Spec{Fault: "partition", Target: Names{"primary"}, Peer: Names{"node-1-replica-1"}, Direction: "to-client"}, pair,
			"attach Hold node-1-replica-1 node-1 downstream", "detach Hold node-1-replica-1 node-1 downstream"},
		{Spec{Fault: "partition", Target: Names{"node-1"}, Peer: Names{"node-1-replica-1", "client-1"}, Direction: "to-node"}, pair,
			"attach Hold node-1-replica-1 node-1 upstream; attach Hold client-1 node-1 upstream",
			"detach Hold node-1-replica-1 node-1 upstream; detach Hold client-1 node-1 upstream"},
		{Spec{Fault: "delay", Target: Names{"client-1"}, By: sec, Direction: "to-node"}, one,
			"attach Delay client-1 node-1 upstream", "detach Delay client-1 node-1 upstream"},
		{Spec{Fault: "hold-reply", Target: Names{"client-1"}}, one,
			"attach Blackhole client-1 node-1 downstream", "reset client-1 node-1; detach Blackhole client-1 node-1 downstream"},
		{Spec{Fault: "reset", Target: Names{"client-1", "client-2"}, Peer: Names{"node-1"}}, pair, "reset client-1 node-1; reset client-2 node-1", "-"},
		{Spec{Fault: "hold-request", Target: Names{"client-1", "client-2"}}, one,
			"hold client-1 node-1; hold client-2 node-1", "release client-1 node-1; release client-2 node-1"},
		{Spec{Fault: "refuse", Target: Names{"client-1"}, Peer: Names{"primary"}}, one, "refuse client-1 node-1", "allow client-1 node-1"},
		{Spec{Fault: "drop-message", Target: Names{"client-1"}}, one,
			"attach DropMessages client-1 node-1 downstream", "detach DropMessages client-1 node-1 downstream"},
		{Spec{Fault: "slow-subscribe", Target: Names{"client-1"}, By: sec}, one,
			"attach SlowSubscribe client-1 node-1 upstream", "detach SlowSubscribe client-1 node-1 upstream"},
		{Spec{Fault: "replication-lag", Target: Names{"primary"}, By: sec}, pair,
			"attach Delay node-1-replica-1 node-1 downstream", "detach Delay node-1-replica-1 node-1 downstream"},
		{Spec{Fault: "cut-replication", Target: Names{"node-1-replica-2"}}, big,
			"attach Hold node-1-replica-2 node-1 upstream; attach Hold node-1-replica-2 node-1 downstream",
			"detach Hold node-1-replica-2 node-1 upstream; detach Hold node-1-replica-2 node-1 downstream"},
	} {
		t.Run(tt.spec.Fault, func(t *testing.T) {
			k, _ := Lookup(tt.spec.Fault)
			must.Succeed(t, k.Available(tt.spec, tt.in))
			w := newFakeWorld()
			detail, heal, err := k.Strike(w, tt.spec, tt.in, 1)
			if err != nil || detail == "" {
				t.Fatalf("detail %q, error %v", detail, err)
			}
			if diff := cmp.Diff(tt.strike, w.log()); diff != "" {
				t.Errorf("strike: %s", diff)
			}
			if (heal == nil) != (tt.heal == "-") {
				t.Fatalf("heal: %v", heal == nil)
			}
			if heal == nil {
				return
			}
			must.Succeed(t, heal())
			if diff := cmp.Diff(tt.heal, w.log()); diff != "" {
				t.Errorf("heal: %s", diff)
			}
		})
	}
}

// After a failover "primary" is another node, and by default the heal reverts
// that.
func TestFailoverTwice(t *testing.T) {
	k, _ := Lookup("failover")
	w := newFakeWorld()
	for range 2 {
		if _, _, err := k.Strike(w, Spec{Target: Names{"primary"}, Mode: "planned"}, Topology{Groups: 1, Replicas: 1}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.log(), "hand over node-1-replica-1; hand over node-1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A fault that fails half way undoes its effects.
func TestStrikeAllOrNone(t *testing.T) {
	for _, tt := range []struct {
		spec       Spec
		fail, want string
	}{
		{Spec{Fault: "pause", Target: Names{"client-1", "client-2"}}, "pause client-2", "pause client-1; pause client-2; resume client-1"},
		{Spec{Fault: "failover", Target: Names{"node-1"}}, "promote", "prefer node-1-replica-1; stop node-1; promote node-1-replica-1; start node-1 true"},
		{Spec{Fault: "cut-replication", Target: Names{"node-1-replica-1"}}, "attach Hold node-1-replica-1 node-1 downstream",
			"attach Hold node-1-replica-1 node-1 upstream; attach Hold node-1-replica-1 node-1 downstream; detach Hold node-1-replica-1 node-1 upstream"},
	} {
		k, _ := Lookup(tt.spec.Fault)
		w := newFakeWorld()
		w.failAt(tt.fail)
		if _, _, err := k.Strike(w, tt.spec, big, 1); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: error %v", tt.spec.Fault, err)
		}
		if diff := cmp.Diff(tt.want, w.log()); diff != "" {
			t.Errorf("%s: %s", tt.spec.Fault, diff)
		}
	}
}

// TestRefusals: every refusal names the accepted values.
func TestRefusals(t *testing.T) {
	at := Duration(0)
	bare := Topology{Clients: 2, Groups: 1}
	for _, tt := range []struct {
		spec Spec
		in   Topology
		want string // part of the error
	}{
		{Spec{Fault: "move-slots", Target: Names{"node-1"}, To: "node-2"}, Topology{Clients: 1, Groups: 2}, "needs a cluster"},
		{Spec{Fault: "move-slots", Target: Names{"node-1"}, To: "node-1"}, Topology{Clients: 1, Groups: 2, Cluster: true}, "the primary of another group that gets the slots, of [node-1 node-2]"},
		{Spec{Fault: "move-slots", Target: Names{"node-1-replica-1"}, To: "node-2"}, Topology{Clients: 1, Groups: 2, Replicas: 1, Cluster: true}, "the primary that has the slots"},
		{Spec{Fault: "meteor"}, bare, "known are: cancel, clock-drift"},
		{Spec{Fault: "pause"}, bare, "needs a target: there is client-1 to client-2"},
		{Spec{Fault: "pause", Target: Names{"client-3"}}, bare, `no client "client-3" here: there is client-1 to client-2`},
		{Spec{Fault: "pause", Target: Names{"node-1"}}, bare, `no client "node-1" here`},
		{Spec{Fault: "pause", Target: Names{"client-1"}, Rate: 2}, bare, `pause takes no "rate": it has no parameters`},
		{Spec{Fault: "pause", Target: Names{"client-1"}, For: -sec}, bare, `"for" must not be negative`},
		{Spec{Fault: "pause", Target: Names{"client-1"}, After: -sec}, bare, `"after" must not be negative`},
		{Spec{Fault: "crash", Target: Names{"client-1"}, For: sec}, bare, `does not last: leave "for" out`},
		{Spec{Fault: "crash", Target: Names{"client-1"}, Until: &Anchor{Moment: Granted}}, bare, `does not last: leave "until" out`},
		{Spec{Fault: "pause", Target: Names{"client-1"}, For: sec, Until: &Anchor{Moment: Granted}}, bare, `either "for" or "until"`},
		{Spec{Fault: "pause", Target: Names{"client-1"}, Until: &Anchor{Moment: "meteor"}}, bare, `until: "meteor" is not a moment`},
		{Spec{Fault: "hold-request", Target: Names{"node-1"}}, bare, "the target is a client"},
		{Spec{Fault: "node-crash", Target: Names{"node-2"}}, bare, `no node "node-2" here: there is node-1, primary`},
		{Spec{Fault: "node-crash", Target: Names{"node-1-replica-1"}}, bare, `no node "node-1-replica-1" here`},
		{Spec{Fault: "node-restart", Target: Names{"node-1"}}, bare, `needs "data": keep or lose`},
		{Spec{Fault: "node-restart", Target: Names{"node-1"}, Data: "some"}, bare, `data: "some" is not one of: keep, lose`},
		{Spec{Fault: "failover", Target: Names{"node-1"}}, bare, "needs a replica to take over"},
		{Spec{Fault: "failover", Target: Names{"node-1", "node-2"}}, big, "takes one target"},
		{Spec{Fault: "failover", Target: Names{"node-1"}, To: "node-2-replica-1"}, big, `"node-2-replica-1" cannot take over from node-1`},
		{Spec{Fault: "failover", Target: Names{"node-1"}, Mode: "magic"}, big, "not one of: crash, planned, isolate"},
		{Spec{Fault: "failover", Target: Names{"node-1"}, Mode: "planned", For: sec}, big, `leave "for" out`},
		{Spec{Fault: "clock-jump", Target: Names{"node-1"}}, bare, `needs "by"`},
		{Spec{Fault: "clock-drift", Target: Names{"node-1"}}, bare, `needs "rate"`},
		{Spec{Fault: "clock-drift", Target: Names{"node-1"}, Rate: 2, By: sec}, bare, `takes no "by", only: rate`},
		{Spec{Fault: "delay", Target: Names{"client-1"}}, bare, `needs "by", a duration greater than 0 such as "200ms"`},
		{Spec{Fault: "delay", Target: Names{"client-1"}, By: sec, Jitter: 2 * sec}, bare, `"jitter" must lie between 0 and "by"`},
		{Spec{Fault: "partition", Target: Names{"client-1"}, Direction: "up"}, bare, "both, to-node, to-client"},
		{Spec{Fault: "partition", Target: Names{"client-1"}, Peer: Names{"client-2"}}, bare, "nothing links client-1 and client-2"},
		{Spec{Fault: "partition", Target: Names{"client-1"}, Peer: Names{"node-7"}}, bare, `peer: no client or node "node-7"`},
		{Spec{Fault: "partition", Target: Names{"node-1"}}, bare, "nothing links node-1 and node-1"},
		{Spec{Fault: "partition", Target: Names{"node-1"}, Peer: Names{"node-2"}}, big, "nothing links node-1 and node-2"},
		{Spec{Fault: "drop-message", Target: Names{"node-1"}}, bare, "the target is a client"},
		{Spec{Fault: "hold-reply", Target: Names{"client-1"}, Peer: Names{"client-2"}}, bare, "the peer is a node"},
		{Spec{Fault: "slow-subscribe", Target: Names{"client-1"}}, bare, `needs "by"`},
		{Spec{Fault: "replication-lag", Target: Names{"node-1"}, By: sec}, bare, "needs a replica"},
		{Spec{Fault: "cut-replication", Target: Names{"node-1"}}, bare, "needs a replica"},
	} {
		tt.spec.At = &at
		_, err := NewSchedule([]Spec{{Fault: "pause", Target: Names{"client-1"}, At: &at}, tt.spec}, tt.in, 1)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "faults[1] ("+tt.spec.Fault+"): ") {
			t.Errorf("%+v:\n got %v\nwant %s", tt.spec, err, tt.want)
		}
	}
}

func TestAnchorRefusals(t *testing.T) {
	at, early := sec, -sec
	for _, tt := range []struct {
		at   *Duration
		on   *Anchor
		want string
	}{
		{nil, nil, `needs "at"`},
		{&at, &Anchor{Moment: Granted}, "not both"},
		{&early, nil, "must not be negative"},
		{nil, &Anchor{Moment: "grant"}, "one of invoked, granted"},
		{nil, &Anchor{Moment: Granted, Nth: -1}, "counts from 1"},
		{nil, &Anchor{Moment: Granted, Client: "client-9"}, `no client "client-9" here`},
		{nil, &Anchor{Moment: Executed, Node: "node-9"}, `no node "node-9" here`},
		{nil, &Anchor{Moment: Executed, Op: "lock"}, "one of: acquire, release, inspect, extend, background"},
	} {
		_, err := NewSchedule([]Spec{{Fault: "pause", Target: Names{"client-1"}, At: tt.at, On: tt.on}}, big, 1)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestPlannedInWords(t *testing.T) {
	at := 3 * sec
	for _, tt := range []struct {
		spec Spec
		want string
	}{
		{Spec{At: &at, For: 12 * sec}, "at 3s, for 12s"},
		{Spec{At: &at, After: sec}, "at 4s"},
		{Spec{At: &at, Until: &Anchor{Moment: Granted, Client: "client-1"}}, "at 3s, until the first grant of client-1"},
		{Spec{At: &at, Until: &Anchor{Moment: Writing}}, "at 3s, until the moment before the first write"},
		{Spec{On: &Anchor{Moment: Granted, Client: "client-1", Nth: 2}}, "after the 2nd grant of client-1"},
		{Spec{On: &Anchor{Moment: Granted}, After: Duration(500 * time.Millisecond)}, "500ms after the first grant"},
		{Spec{On: &Anchor{Moment: Refused, Nth: 3}}, "after the 3rd refusal"},
		{Spec{On: &Anchor{Moment: Released, Nth: 11}}, "after the 11th release"},
		{Spec{On: &Anchor{Moment: Writing, Client: "client-2"}}, "before the first write of client-2"},
		{Spec{On: &Anchor{Moment: Invoked, Op: "acquire", Client: "client-2", Nth: 22}}, "before the 22nd acquire of client-2"},
		{Spec{On: &Anchor{Moment: Executed, Op: "release", Client: "client-1"}}, "between execution and reply of client-1's release"},
		{Spec{On: &Anchor{Moment: Executed, Client: "client-1", Changed: true, Nth: 2}}, "between execution and reply of client-1's 2nd request that changed the lock"},
		{Spec{On: &Anchor{Moment: Received, Command: "DEL", Op: "release", Node: "node-1"}}, "between arrival and execution of the first DEL in release at node-1"},
		{Spec{On: &Anchor{Moment: Executed, Op: "background", Client: "client-1"}, After: sec, For: sec},
			"1s after the moment between execution and reply of client-1's background request, for 1s"},
	} {
		tt.spec.Fault, tt.spec.Target = "pause", Names{"client-1"}
		sc, err := NewSchedule([]Spec{tt.spec}, big, 1)
		if err != nil {
			t.Error(err)
			continue
		}
		want := []history.PlannedFault{{ID: 1, Fault: "pause", Targets: []string{"client-1"}, When: tt.want, Traits: tt.spec.Traits()}}
		if diff := cmp.Diff(want, sc.Planned()); diff != "" {
			t.Error(diff)
		}
	}
}

// recorder stores the records of a schedule, with the time.
type recorder struct {
	start time.Time
	lines []string
}

func (r *recorder) record(s history.FaultEvent) {
	r.lines = append(r.lines, fmt.Sprintf("%v #%d %s %s %v", time.Since(r.start), s.ID, s.Name, s.Phase, s.Targets))
}

func (r *recorder) want(t *testing.T, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, r.lines); diff != "" {
		t.Error(diff)
	}
}

func begin(t *testing.T, w World, specs ...Spec) (*Schedule, *recorder) {
	t.Helper()
	sc, err := NewSchedule(specs, big, 1)
	must.Succeed(t, err)
	r := &recorder{start: time.Now()}
	sc.Start(t.Context(), w, at(r.record))
	return sc, r
}

func TestScheduleInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld()
		sc, r := begin(t, w,
			Spec{Fault: "pause", Target: Names{"client-1"}, At: new(3 * sec), For: 2 * sec},
			Spec{Fault: "crash", Target: Names{"client-2"}, At: new(sec), After: 4 * sec},
			Spec{Fault: "clock-jump", Target: Names{"primary"}, By: sec, At: new(Duration(0))},
			Spec{Fault: "pause", Target: Names{"client-3"}, At: new(4 * sec)},
			Spec{Fault: "crash", Target: Names{"client-3"}, At: new(99 * sec)},
		)
		if w.log() != "clock node-1 1s 1" {
			t.Error("a fault at 0s had not struck when Start returned")
		}
		time.Sleep(20 * time.Second)
		sc.Stop()
		sc.Stop()
		r.want(t,
			"0s #3 clock-jump start [node-1]",
			"3s #1 pause start [client-1]",
			"4s #4 pause start [client-3]",
			"5s #1 pause end [client-1]",
			"5s #2 crash start [client-2]",
			"20s #4 pause end [client-3]",
			"20s #5 crash failed [client-3]",
		)
	})
}

func TestScheduleOnMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld()
		sc, r := begin(t, w,
			Spec{Fault: "pause", Target: Names{"client-1"}, On: &Anchor{Moment: Granted, Client: "client-1", Nth: 2}, For: sec},
			Spec{Fault: "script-flush", Target: Names{"primary"}, On: &Anchor{Moment: Executed, Command: "EVALSHA", Changed: true}, After: sec},
			Spec{Fault: "crash", Target: Names{"client-2"}, On: &Anchor{Moment: Writing}},
		)
		grant := Moment{Name: Granted, Client: "client-1", Op: "acquire"}
		sc.Moment(grant)
		sc.Moment(Moment{Name: Granted, Client: "client-2", Op: "acquire"})
		if got := w.log(); got != "" {
			t.Errorf("struck too early: %s", got)
		}
		sc.Moment(grant)
		if got := w.log(); got != "pause client-1" {
			t.Errorf("had not struck when Moment returned: %q", got)
		}
		sc.Moment(grant)
		sc.Moment(grant)
		time.Sleep(time.Minute)
		sc.Moment(Moment{Name: Executed, Command: "EVALSHA"})
		sc.Moment(Moment{Name: Executed, Command: "GET", Changed: true})
		sc.Moment(Moment{Name: Executed, Command: "evalsha", Changed: true})
		time.Sleep(time.Minute)
		sc.Stop()
		sc.Moment(Moment{Name: Writing})
		r.want(t,
			"0s #1 pause start [client-1]",
			"1s #1 pause end [client-1]",
			"1m1s #2 script-flush start [node-1]",
			"2m0s #3 crash failed [client-2]",
		)
	})
}

// A fault that lasts until a moment ends when the world announces that moment.
// Earlier moments do not count.
func TestScheduleUntilAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld()
		sc, r := begin(t, w,
			Spec{Fault: "pause", Target: Names{"client-1"}, On: &Anchor{Moment: Granted}, Until: &Anchor{Moment: Granted, Nth: 2}},
			Spec{Fault: "refuse", Target: Names{"client-2"}, Peer: Names{"node-1"}, On: &Anchor{Moment: Granted}, Until: &Anchor{Moment: Writing}},
		)
		sc.Moment(Moment{Name: Granted})
		sc.Moment(Moment{Name: Granted})
		if got, want := w.log(), "pause client-1; refuse client-2 node-1"; got != want {
			t.Errorf("before the moment: %s, want %s", got, want)
		}
		sc.Moment(Moment{Name: Granted})
		if got, want := w.log(), "resume client-1"; got != want {
			t.Errorf("when the moment had been announced: %q, want %q", got, want)
		}
		sc.Moment(Moment{Name: Granted})
		time.Sleep(time.Second)
		sc.Stop()
		r.want(t,
			"0s #1 pause start [client-1]",
			"0s #2 refuse start [client-2 node-1]",
			"0s #1 pause end [client-1]",
			"1s #2 refuse end [client-2 node-1]",
		)
	})
}

// A strike may cause further moments, at which other faults strike.
func TestScheduleReentrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld()
		sc, r := begin(t, w,
			Spec{Fault: "crash", Target: Names{"client-1"}, On: &Anchor{Moment: Granted}},
			Spec{Fault: "crash", Target: Names{"client-2"}, On: &Anchor{Moment: Refused}},
		)
		w.onCall = func(string) { sc.Moment(Moment{Name: Refused}) }
		sc.Moment(Moment{Name: Granted})
		sc.Stop()
		r.want(t, "0s #2 crash start [client-2]", "0s #1 crash start [client-1]")
	})
}

func TestScheduleFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := Duration(0)
		w := newFakeWorld()
		w.failAt("crash")
		var got []history.FaultEvent
		sc, err := NewSchedule([]Spec{
			{Fault: "crash", Target: Names{"client-1"}, At: &zero},
			{Fault: "pause", Target: Names{"client-1"}, At: &zero, For: sec},
			{Fault: "pause", Target: Names{"client-2"}, On: &Anchor{Moment: Granted}},
		}, big, 1)
		must.Succeed(t, err)
		sc.Start(t.Context(), w, at(func(s history.FaultEvent) { got = append(got, s) }))
		w.failAt("resume")
		time.Sleep(2 * time.Second)
		sc.Stop()
		want := []history.FaultEvent{
			{ID: 1, Name: "crash", Phase: history.PhaseFailed, Targets: []string{"client-1"}, Detail: "could not strike: client-1: refused"},
			{ID: 2, Name: "pause", Phase: history.PhaseStart, Targets: []string{"client-1"}, Detail: "client-1 paused"},
			{ID: 2, Name: "pause", Phase: history.PhaseEnd, Targets: []string{"client-1"}},
			{ID: 2, Name: "pause", Phase: history.PhaseFailed, Targets: []string{"client-1"}, Detail: "could not be healed: refused"},
			{ID: 3, Name: "pause", Phase: history.PhaseFailed, Targets: []string{"client-2"}, Detail: "never struck: the run was over first; planned after the first grant"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// at is a record without the beginning of the fault.
func at(tell func(history.FaultEvent)) record { return func() func(history.FaultEvent) { return tell } }

// The record of a fault that needs time to strike is at the time of its
// beginning.
func TestAStrikeIsRecordedWhereItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := Duration(0)
		w := newFakeWorld()
		w.onCall = func(string) { time.Sleep(2 * time.Second) }
		sc, err := NewSchedule([]Spec{{Fault: "crash", Target: Names{"client-1"}, At: &zero}}, big, 1)
		must.Succeed(t, err)
		start := time.Now()
		sc.Start(t.Context(), w, func() func(history.FaultEvent) {
			began := time.Since(start)
			return func(history.FaultEvent) {
				if told := time.Since(start); began != 0 || told != 2*time.Second {
					t.Errorf("it began after %s and was told of after %s", began, told)
				}
			}
		})
		sc.Stop()
	})
}

// A server that takes long to stop is back before the next fault stops it again.
func TestASlowStrikeKeepsTheOrderOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld()
		w.onCall = func(call string) {
			if call == "stop node-1" {
				time.Sleep(4 * time.Second)
			}
		}
		restart := Spec{Fault: "node-restart", Target: Names{"node-1"}, Data: "keep", For: 3 * sec}
		first, second := restart, restart
		first.At, second.At = new(sec), new(7*sec)
		sc, _ := begin(t, w, first, second)
		time.Sleep(20 * time.Second)
		sc.Stop()
		if got, want := w.log(), "stop node-1; start node-1 true; stop node-1; start node-1 true"; got != want {
			t.Errorf("the servers were told: %s; want: %s", got, want)
		}
	})
}

func TestScheduleIsSafeForConcurrentUse(t *testing.T) {
	sc, err := NewSchedule([]Spec{{Fault: "crash", Target: Names{"client-1"}, On: &Anchor{Moment: Granted, Nth: 500}}}, big, 1)
	must.Succeed(t, err)
	w := newFakeWorld()
	r := &recorder{start: time.Now()}
	sc.Start(t.Context(), w, at(r.record))
	done := make(chan struct{})
	for range 10 {
		go func() {
			for range 100 {
				sc.Moment(Moment{Name: Granted})
			}
			done <- struct{}{}
		}()
	}
	for range 10 {
		<-done
	}
	sc.Stop()
	if got := w.log(); got != "crash client-1" {
		t.Errorf("struck %q", got)
	}
}

func TestDurationAndNames(t *testing.T) {
	type doc struct {
		For    Duration  `yaml:"for" json:"for,omitempty"`
		At     *Duration `yaml:"at" json:"at,omitempty"`
		Target Names     `yaml:"target" json:"target,omitempty"`
	}
	at := 90 * sec
	want := doc{For: Duration(1500 * time.Millisecond), At: &at, Target: Names{"client-1"}}
	var d doc
	must.Succeed(t, yaml.Unmarshal([]byte("for: 1.5s\nat: \"1m30s\"\ntarget: client-1\n"), &d))
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	b, err := yaml.Marshal(d)
	must.Succeed(t, err)
	d = doc{}
	if err := yaml.Unmarshal(b, &d); err != nil || !cmp.Equal(want, d) {
		t.Errorf("%v: %s", err, b)
	}
	if b, err = json.Marshal(d); err != nil || string(b) != `{"for":"1.5s","at":"1m30s","target":["client-1"]}` {
		t.Errorf("%v: %s", err, b)
	}
	d = doc{}
	if err := json.Unmarshal(b, &d); err != nil || !cmp.Equal(want, d) {
		t.Errorf("%v: %+v", err, d)
	}
	if err := json.Unmarshal([]byte(`{"target":"client-1"}`), &d); err != nil || !cmp.Equal(want, d) {
		t.Errorf("%v: %+v", err, d)
	}

	for _, tt := range []struct{ yaml, want string }{
		{"for: 3 sec", "[1:6] "}, // line and column
		{"target:\n  - client-1\n  - 3", "[2:3] "},
		{"for: 3 sec", `"3 sec" is not a duration: write a duration such as "3s" or "250ms"`},
		{"for: 3", `"3" is not a duration`},
		{"for: [3s]", "is not a duration"},
		{"target: {a: b}", "a name or a list of names"},
		{"target: [client-1, 3]", "a name or a list of names"},
	} {
		if err := yaml.Unmarshal([]byte(tt.yaml), &d); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.yaml, err, tt.want)
		}
	}
	for _, text := range []string{`{"for":3}`, `{"for":"soon"}`, `{"for":null}`} {
		if err := json.Unmarshal([]byte(text), &d); err == nil && !strings.Contains(text, "null") {
			t.Errorf("%s was accepted", text)
		}
	}
}

// A moment of a reply names the request that it answers. A message answers none.
func TestWhatReachesAClient(t *testing.T) {
	confirm := func(channel string) string { return ">3\r\n$9\r\nsubscribe\r\n$3\r\n" + channel + "\r\n:1\r\n" }
	var a Arrivals
	for _, command := range []string{"HELLO", "GET", "SUBSCRIBE", "EVALSHA", "SUBSCRIBE"} {
		a.Asked(command)
	}
	stream := "%0\r\n" + "$-1\r\n" + confirm("one") + "-ERR no\r\n" + confirm("two") +
		">3\r\n$7\r\nmessage\r\n$3\r\none\r\n$2\r\nhi\r\n" + "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$3\r\none\r\n$2\r\nhi\r\n"
	for _, step := range []int{1, 7, len(stream)} {
		a := Arrivals{asked: slices.Clone(a.asked)}
		var got []string
		for rest := stream; rest != ""; rest = rest[min(step, len(rest)):] {
			for _, m := range a.Arrived([]byte(rest[:min(step, len(rest))])) {
				got = append(got, strings.TrimSpace(m.Name+" "+m.Command))
			}
		}
		want := []string{"answered GET", "answered SUBSCRIBE", "answered EVALSHA", "answered SUBSCRIBE", "delivered", "delivered"}
		if !slices.Equal(got, want) {
			t.Errorf("in steps of %d: %q, want %q", step, got, want)
		}
	}
}
