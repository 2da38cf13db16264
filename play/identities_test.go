package play

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/history"
)

// A lock on several servers stores its value on one of them also in a try that comes
// to nothing, while another owner of the same process gets the lock. Whose the value
// is shows in the tries that follow.
func TestAnIdentityIsTheOneOfWhoAskedMostOften(t *testing.T) {
	start := time.Unix(0, 0)
	var events []history.Event
	op := int64(0)
	try := func(owner string, from, to int64, end history.Kind) {
		op++
		at := func(t int64, k history.Kind) history.Event {
			return history.Event{Time: t, Kind: k, Op: op, F: history.Acquire, Client: "client-1", Owner: owner, Lock: "stock"}
		}
		events = append(events, at(from, history.Invoke), at(to, end))
	}
	holds := func(at int64, holder, was string) {
		events = append(events, history.Event{Time: at, Kind: history.Server, Lock: "stock", Server: &history.ServerEvent{Cause: "command", Node: "node-1", By: "client-1", Holder: holder, WasHolder: was}})
	}
	try("client-1/1", 10, 40, history.Fail)
	try("client-1/2", 20, 30, history.OK)
	holds(25, "a", "")
	holds(35, "", "a")
	try("client-1/1", 50, 60, history.Fail)
	holds(55, "a", "")
	holds(56, "", "a")
	try("client-1/2", 70, 80, history.OK)
	holds(75, "b", "")
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })

	o := &owners{name: map[string]string{}, unresolved: map[string]stored{
		"a": {"client-1", "stock", start.Add(25), false}, "b": {"client-1", "stock", start.Add(75), false},
	}}
	o.resolve(start, events)
	if o.name["a"] != "client-1/1" || o.name["b"] != "client-1/2" {
		t.Errorf("a is %s's and b is %s's", o.name["a"], o.name["b"])
	}
}

// A queue's script stores the value of the next waiter when another client releases.
func TestAValueThatAReleaseStoredIsThatOfWhoIsGrantedNext(t *testing.T) {
	op := func(n int64, f history.Func, client string, from, to int64) []history.Event {
		e := history.Event{Op: n, F: f, Client: client, Owner: client + "/1", Lock: "stock"}
		invoked, returned := e, e
		invoked.Kind, invoked.Time = history.Invoke, from
		returned.Kind, returned.Time = history.OK, to
		return []history.Event{invoked, returned}
	}
	events := slices.Concat(
		op(1, history.Acquire, "client-2", 5, 30), op(2, history.Acquire, "client-3", 6, 50), op(3, history.Release, "client-1", 20, 28))
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	start := time.Now()
	o := &owners{name: map[string]string{}, unresolved: map[string]stored{"a": {"client-1", "stock", start.Add(25), true}}}
	o.resolve(start, events)
	if o.name["a"] != "client-2/1" {
		t.Errorf("it is %s's", o.name["a"])
	}
}

// A renewal stores the value on one more server, while another owner of the process
// waits. It stays the value of the owner who was granted the lock.
func TestARenewalOnOneMoreServerIsNoTry(t *testing.T) {
	var events []history.Event
	try := func(op int64, owner string, from, to int64) {
		e := history.Event{Op: op, F: history.Acquire, Client: "client-1", Owner: owner, Lock: "stock"}
		invoked, returned := e, e
		invoked.Kind, invoked.Time = history.Invoke, from
		returned.Kind, returned.Time = history.OK, to
		events = append(events, invoked, returned)
	}
	try(1, "client-1/1", 10, 90)
	try(2, "client-1/2", 15, 30)
	for at, node := range map[int64]string{20: "node-1", 21: "node-2", 40: "node-3", 50: "node-4"} {
		events = append(events, history.Event{Time: at, Kind: history.Server, Lock: "stock", Server: &history.ServerEvent{Cause: "command", Node: node, By: "client-1", Holder: "a"}})
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	start := time.Now()
	o := &owners{name: map[string]string{}, unresolved: map[string]stored{"a": {"client-1", "stock", start.Add(20), false}}}
	o.resolve(start, events)
	if o.name["a"] != "client-1/2" {
		t.Errorf("it is %s's", o.name["a"])
	}
}

// Two owners try at once, and one value of them is stored for a moment only. Later it
// is stored for another lock, for which one of them alone asks.
func TestAValueBelongsToWhoAloneAsksForAnotherLock(t *testing.T) {
	var events []history.Event
	try := func(op int64, owner, lock string, from, to int64) {
		e := history.Event{Op: op, F: history.Acquire, Client: "client-1", Owner: owner, Lock: lock}
		invoked, returned := e, e
		invoked.Kind, invoked.Time = history.Invoke, from
		returned.Kind, returned.Time = history.OK, to
		events = append(events, invoked, returned)
	}
	stores := func(at int64, lock string) {
		events = append(events, history.Event{Time: at, Kind: history.Server, Lock: lock, Server: &history.ServerEvent{Cause: "command", Node: lock, By: "client-1", Holder: "a"}})
	}
	try(1, "client-1/1", "stock", 10, 60)
	try(2, "client-1/2", "stock", 15, 30)
	stores(20, "stock")
	try(3, "client-1/1", "till", 70, 80)
	stores(75, "till")
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	start := time.Now()
	o := &owners{name: map[string]string{}, unresolved: map[string]stored{"a": {"client-1", "stock", start.Add(20), true}}}
	o.resolve(start, events)
	if o.name["a"] != "client-1/1" {
		t.Errorf("it is %s's", o.name["a"])
	}
}
