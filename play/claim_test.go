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
		events = append(events, history.Event{Time: at, Kind: history.Server, Lock: "stock", Server: &history.ServerEvent{Node: "node-1", Cause: "command", By: "client-1", Holder: holder, WasHolder: was}})
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

	o := &owners{name: map[string]string{}, unclaimed: map[string]stored{
		"a": {"client-1", "stock", start.Add(25)}, "b": {"client-1", "stock", start.Add(75)},
	}}
	o.claim(start, events)
	if o.name["a"] != "client-1/1" || o.name["b"] != "client-1/2" {
		t.Errorf("a is %s's and b is %s's", o.name["a"], o.name["b"])
	}
}
