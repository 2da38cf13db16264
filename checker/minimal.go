package checker

import (
	"fmt"
	"github.com/holdfast-go/holdfast/history"
	"slices"
	"time"
)

// minimal leaves out of some operations what it can while they still show
// something: owners first, then halves, quarters and so on, then single
// operations. It takes five seconds at most.
func minimal(ops []lockOp, shows func([]lockOp) bool) []lockOp {
	limit := time.Now().Add(5 * time.Second)
	try := func(without func(i int, o *lockOp) bool) bool {
		var rest []lockOp
		for i := range ops {
			if !without(i, &ops[i]) {
				rest = append(rest, ops[i])
			}
		}
		if len(rest) == len(ops) || time.Now().After(limit) || !shows(rest) {
			return false
		}
		ops = rest
		return true
	}
	for smaller := true; smaller; {
		smaller = false
		var owners []int32
		for i := range ops {
			if !slices.Contains(owners, ops[i].owner) {
				owners = append(owners, ops[i].owner)
			}
		}
		for _, w := range owners {
			if try(func(_ int, o *lockOp) bool { return o.owner == w }) {
				smaller = true
			}
		}
		for size := max(len(ops)/2, 1); size > 0; size /= 2 {
			for from := 0; from < len(ops); {
				if try(func(i int, _ *lockOp) bool { return i >= from && i < from+size }) {
					smaller = true
				} else {
					from += size
				}
			}
		}
	}
	return ops
}

// lines writes operations down for people.
func lines(ops []lockOp, who *roster) []string {
	var out []string
	for i := range ops {
		o := &ops[i]
		ret := "no return"
		if o.ret < forever {
			ret = fmt.Sprintf("returned %d ns", o.ret)
		}
		lease := ""
		if o.lease < forever && (o.kind == gotLock || o.kind == maybeGot || o.kind == tookAndGave) {
			lease = fmt.Sprintf(", lease %d ns", o.lease)
		}
		out = append(out, fmt.Sprintf("%s%s; called %d ns, %s; operation %d", o.describe(who), lease, o.call, ret, o.id))
	}
	return out
}

// outcomes are the events that stand for kinds of operations.
var outcomes = map[opKind]struct {
	f     history.Func
	kind  history.Kind
	class string
}{
	gotLock: {history.Acquire, history.OK, ""}, foundBusy: {history.Acquire, history.Fail, history.ErrBusy}, tookAndGave: {history.Acquire, history.Fail, history.ErrCanceled},
	maybeGot: {history.Acquire, history.Info, history.ErrUnknown}, gaveBack: {history.Release, history.OK, ""}, heldNothing: {history.Release, history.Fail, history.ErrNotHeld},
	foundLost: {history.Release, history.Fail, history.ErrLost}, maybeGave: {history.Release, history.Info, history.ErrUnknown}, inspected: {history.Inspect, history.OK, ""},
}

// written writes operations down as events. Not all can be: one that the
// server log showed to be later than its call, or two of one owner at once.
func written(ops []lockOp) *history.History {
	h := &history.History{}
	now := map[int32]int64{} // owner -> return of its operation before
	for i := range ops {
		o := &ops[i]
		if o.call != o.asked || o.call < now[o.owner] || o.call < 0 {
			return nil
		}
		is := outcomes[o.kind]
		e := history.Event{Op: int64(i + 1), F: is.f, Client: fmt.Sprintf("client-%d", o.owner), Lock: "lock"}
		e.Owner = e.Client + "/1"
		inv, ret := e, e
		inv.Time, inv.Kind, inv.Args = o.call, history.Invoke, &history.Args{Renewed: o.renewed}
		if o.lease < forever {
			inv.Args.Lease = o.lease
		}
		h.Events = append(h.Events, inv)
		ret.Time, ret.Kind, ret.Result = o.ret, is.kind, &history.Result{Count: int(o.count), Error: is.class}
		if o.ret >= forever {
			ret.Time = o.call // when its client gave up does not matter
		}
		now[o.owner] = ret.Time
		if !o.crashed {
			h.Events = append(h.Events, ret)
		} else {
			h.Events = append(h.Events, history.Event{Time: o.call, Kind: history.Note, F: history.Crashed, Client: e.Client})
			now[o.owner] = forever
		}
	}
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return int(min(max(a.Time-b.Time, -1), 1)) })
	end := history.Event{Kind: history.End, End: &history.EndEvent{}}
	if n := len(h.Events); n > 0 {
		end.Time = h.Events[n-1].Time
	}
	h.Events = append(h.Events, end)
	return h
}

// writeDown completes a disagreement about one lock of a history.
func (t *trace) writeDown(e *DisagreementError, lock string, c court) error {
	e.Lock = lock
	if e.Minimal == nil {
		return e
	}
	h := &t.h.Header
	e.Minimal.Header = history.Header{
		Format: history.Format, Scenario: h.Scenario, Lock: h.Lock, World: h.World, Seed: h.Seed, Version: h.Version, Claims: h.Claims,
	}
	e.Minimal.Header.Claims.Lease = true // by what every acquire asked for
	if history.Validate(e.Minimal) != nil {
		e.Minimal = nil
		return e
	}
	again := newTrace(e.Minimal)
	for _, l := range again.locks {
		if ops, _ := again.lockOps(l); !c.differ(ops, again.rules()) {
			e.Minimal = nil
		}
	}
	return e
}
