package play

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// recorded is a short history. The client of an owner is the part before its slash.
type recorded struct {
	events []history.Event
	op     int64
}

func (r *recorded) operation(f history.Func, owner, lock string, from, to int64, end history.Kind) {
	r.op++
	client, _, _ := strings.Cut(owner, "/")
	e := history.Event{Op: r.op, F: f, Client: client, Owner: owner, Lock: lock}
	invoked, returned := e, e
	invoked.Kind, invoked.Time = history.Invoke, from
	returned.Kind, returned.Time = end, to
	r.events = append(r.events, invoked, returned)
}

// stores records that client-1 replaces the holder of a lock on a server.
func (r *recorded) stores(at int64, node, lock, holder, was string) {
	r.events = append(r.events, history.Event{Time: at, Kind: history.Server, Lock: lock,
		Server: &history.ServerEvent{Cause: "command", Node: node, By: "client-1", Holder: holder, WasHolder: was}})
}

// owners resolves identities that client-1 first stored at these times. sent says that
// the times are those of the requests.
func (r *recorded) owners(first map[string]int64, sent bool) map[string]string {
	slices.SortStableFunc(r.events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	start := time.Unix(0, 0)
	o := &owners{name: map[string]string{}, unresolved: map[string]stored{}}
	for identity, at := range first {
		o.unresolved[identity] = stored{"client-1", "stock", start.Add(time.Duration(at)), sent, ""}
	}
	r.events = o.resolve(start, r.events)
	return o.name
}

// A lock on several servers also stores its value on one of them in a try that fails.
// Another owner of the same process gets the lock then. Whose the value is shows in the
// tries that follow.
func TestAnIdentityIsTheOneOfWhoAskedMostOften(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-1/1", "stock", 10, 40, history.Fail)
	r.operation(history.Acquire, "client-1/2", "stock", 20, 30, history.OK)
	r.stores(25, "node-1", "stock", "a", "")
	r.stores(35, "node-1", "stock", "", "a")
	r.operation(history.Acquire, "client-1/1", "stock", 50, 60, history.Fail)
	r.stores(55, "node-1", "stock", "a", "")
	r.stores(56, "node-1", "stock", "", "a")
	r.operation(history.Acquire, "client-1/2", "stock", 70, 80, history.OK)
	r.stores(75, "node-1", "stock", "b", "")
	if got := r.owners(map[string]int64{"a": 25, "b": 75}, false); !maps.Equal(got, map[string]string{"a": "client-1/1", "b": "client-1/2"}) {
		t.Errorf("a is %s's and b is %s's", got["a"], got["b"])
	}
}

// A request may go on when its caller has left. Its client sends the value between two
// acquires.
func TestAValueThatNobodyAsksWithIsThatOfWhoGaveUp(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-1/1", "stock", 10, 20, history.Info)
	r.operation(history.Acquire, "client-1/2", "stock", 30, 60, history.Fail)
	r.stores(35, "node-1", "stock", "a", "")
	r.operation(history.Acquire, "client-1/2", "stock", 70, 80, history.OK)
	if got := r.owners(map[string]int64{"a": 25}, true); got["a"] != "client-1/1" {
		t.Errorf("it is %s's", got["a"])
	}
}

// A queue's script stores the value of the next waiter when another client releases.
func TestAValueThatAReleaseStoredIsThatOfWhoIsGrantedNext(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-2/1", "stock", 5, 30, history.OK)
	r.operation(history.Acquire, "client-3/1", "stock", 6, 50, history.OK)
	r.operation(history.Release, "client-1/1", "stock", 20, 28, history.OK)
	if got := r.owners(map[string]int64{"a": 25}, true); got["a"] != "client-2/1" {
		t.Errorf("it is %s's", got["a"])
	}
}

// A renewal stores the value on one more server, while another owner of the process
// waits. It stays the value of the owner who was granted the lock.
func TestARenewalOnOneMoreServerIsNoTry(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-1/1", "stock", 10, 90, history.OK)
	r.operation(history.Acquire, "client-1/2", "stock", 15, 30, history.OK)
	for at, node := range map[int64]string{20: "node-1", 21: "node-2", 40: "node-3", 50: "node-4"} {
		r.stores(at, node, "stock", "a", "")
	}
	if got := r.owners(map[string]int64{"a": 20}, false); got["a"] != "client-1/2" {
		t.Errorf("it is %s's", got["a"])
	}
}

// Two owners try at once, and one value of them is stored for a moment only. Later it
// is stored for another lock, for which one of them alone asks.
func TestAValueBelongsToWhoAloneAsksForAnotherLock(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-1/1", "stock", 10, 60, history.OK)
	r.operation(history.Acquire, "client-1/2", "stock", 15, 30, history.OK)
	r.stores(20, "node-1", "stock", "a", "")
	r.operation(history.Acquire, "client-1/1", "till", 70, 80, history.OK)
	r.stores(75, "node-2", "till", "a", "")
	if got := r.owners(map[string]int64{"a": 20}, true); got["a"] != "client-1/1" {
		t.Errorf("it is %s's", got["a"])
	}
}

// An owner has one server of a quorum, and waits for the others. Another owner of its
// process is granted the lock on those meanwhile. The value is that of the owner who
// releases when it goes.
func TestAValueBelongsToWhoReleasesItWhenItGoes(t *testing.T) {
	var r recorded
	r.operation(history.Acquire, "client-1/1", "stock", 10, 80, history.OK)
	r.operation(history.Acquire, "client-1/2", "stock", 15, 50, history.OK)
	r.stores(20, "node-1", "stock", "a", "")
	r.stores(40, "node-2", "stock", "b", "")
	r.stores(41, "node-3", "stock", "b", "")
	r.operation(history.Release, "client-1/2", "stock", 60, 64, history.OK)
	r.stores(62, "node-2", "stock", "", "b")
	r.stores(63, "node-3", "stock", "", "b")
	r.stores(70, "node-2", "stock", "a", "")
	r.operation(history.Release, "client-1/1", "stock", 90, 95, history.OK)
	r.stores(91, "node-1", "stock", "", "a")
	r.stores(92, "node-2", "stock", "", "a")
	if got := r.owners(map[string]int64{"a": 20, "b": 40}, false); !maps.Equal(got, map[string]string{"a": "client-1/1", "b": "client-1/2"}) {
		t.Errorf("a is %s's and b is %s's", got["a"], got["b"])
	}
}
