package draw_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
)

const msec = int64(1e6)

// story is a history in which client-1 holds the lock and renews it while
// client-2 waits, and faults strike at each step.
func story() *history.History {
	var events []history.Event
	at, id := int64(0), 0
	add := func(e history.Event) {
		at += 5 * msec
		e.Time = at
		events = append(events, e)
	}
	op := func(n int64, client string, f history.Func, k history.Kind) {
		e := history.Event{Kind: k, Op: n, F: f, Client: client, Owner: client + "/1", Lock: "stock"}
		if k != history.Invoke {
			e.Result = &history.Result{}
		}
		add(e)
	}
	strike := func(name string, targets ...string) {
		id++
		add(history.Event{Kind: history.Fault, Fault: &history.FaultEvent{ID: id, Name: name, Phase: history.PhaseStart, Targets: targets}})
	}
	now := func() { at -= 5 * msec } // what follows happens at the same instant
	server := func(was, is string, wasTTL, ttl int64) {
		add(history.Event{Kind: history.Server, Server: &history.ServerEvent{Node: "node-1", Role: "primary", Cause: "command", By: "client-1",
			WasHolder: was, Holder: is, WasTTL: wasTTL, TTL: ttl}})
	}
	strike("reset", "client-2")
	op(1, "client-1", history.Acquire, history.Invoke)
	strike("delay", "client-1")
	server("", "x", 0, 100)
	strike("cancel", "client-1")
	op(1, "client-1", history.Acquire, history.OK)
	now()
	strike("pause", "client-1")
	op(2, "client-2", history.Acquire, history.Invoke)
	strike("failover", "node-1")
	server("x", "x", 50, 100)
	now()
	strike("hold-reply", "client-1")
	op(3, "client-1", history.Release, history.Invoke)
	strike("partition", "client-1", "node-1")
	server("x", "", 100, 0)
	strike("crash", "client-1")
	add(history.Event{Kind: history.Note, F: history.Crashed, Client: "client-1"})
	strike("script-flush", "node-1")
	return &history.History{Events: events}
}

func TestCoverOfAKnownHistory(t *testing.T) {
	want := map[draw.Cell]int{
		{Fault: "reset", Phase: draw.Idle}:             1,
		{Fault: "delay", Phase: draw.AcquireSent}:      1,
		{Fault: "cancel", Phase: draw.AcquireExecuted}: 1,
		{Fault: "pause", Phase: draw.AcquireReplied}:   1,
		{Fault: "failover", Phase: draw.Holding}:       1,
		{Fault: "failover", Phase: draw.Waiting}:       1,
		{Fault: "hold-reply", Phase: draw.Renewing}:    1,
		{Fault: "partition", Phase: draw.ReleaseSent}:  1,
		{Fault: "crash", Phase: draw.ReleaseExecuted}:  1,
		// Client-1 is gone, and client-2 waits for a lock that is free.
		{Fault: "script-flush", Phase: draw.AcquireSent}: 1,
	}
	got := draw.Cover(story())
	for _, c := range got.Counts() {
		if want[c.Cell] != c.Hits {
			t.Errorf("%s struck %d times while %s, not %d", c.Fault, c.Hits, c.Phase, want[c.Cell])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cells, not %d", len(got), len(want))
	}
	holes := got.Holes([]string{"cancel", "reset"})
	if len(holes) != 4+8 {
		t.Errorf("the holes are %v", holes)
	}
	for phase, want := range map[draw.Phase]string{draw.AcquireExecuted: "1", draw.AcquireSent: ".", draw.AcquireReplied: "-"} {
		if mark := got.Mark("cancel", phase); mark != want {
			t.Errorf("the mark of cancel at %s is %q, not %q", phase, mark, want)
		}
	}
}
