package linear

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// DisagreementError says that the two judges of linearizability decided
// differently about the same operations. One of them is wrong: that is a defect
// of this package, and says nothing of the lock.
type DisagreementError struct {
	Lock            string // filled in by the caller
	Fast, Porcupine Outcome
	Ops             []int64 // at most five of what the illegal finding rests on
	Why             string  // the fast judge's reason, in one line

	// Listing has the smallest history found on which they disagree, one
	// operation a line: owner, what it did, from when to when, and its id.
	Listing []string
	// Minimal is the same as a history on which the judges disagree again. It
	// is nil when the operations cannot be written down as one.
	Minimal *history.History
}

func (e *DisagreementError) Error() string {
	s := fmt.Sprintf("the judges disagree on lock %q: fast says %s, porcupine %s", e.Lock, e.Fast, e.Porcupine)
	if len(e.Ops) > 0 {
		s += fmt.Sprintf(", operations %v", e.Ops)
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

func lines(ops []Op, who *Roster) []string {
	var out []string
	for i := range ops {
		o := &ops[i]
		ret := "no return"
		if o.Return < Forever {
			ret = fmt.Sprintf("returned %d ns", o.Return)
		}
		lease := ""
		if o.Lease < Forever && (o.Kind == GotLock || o.Kind == MaybeGot || o.Kind == TookAndGave) {
			lease = fmt.Sprintf(", lease %d ns", o.Lease)
		}
		out = append(out, fmt.Sprintf("%s%s; called %d ns, %s; operation %d", o.describe(who), lease, o.Call, ret, o.ID))
	}
	return out
}

// outcomes are the events that stand for kinds of operations.
var outcomes = map[Kind]struct {
	f     history.Func
	kind  history.Kind
	class string
}{
	GotLock: {history.Acquire, history.OK, ""}, FoundBusy: {history.Acquire, history.Fail, history.ErrBusy}, TookAndGave: {history.Acquire, history.Fail, history.ErrCanceled},
	MaybeGot: {history.Acquire, history.Info, history.ErrUnknown}, GaveBack: {history.Release, history.OK, ""}, HeldNothing: {history.Release, history.Fail, history.ErrNotHeld},
	FoundLost: {history.Release, history.Fail, history.ErrLost}, MaybeGave: {history.Release, history.Info, history.ErrUnknown}, Inspected: {history.Inspect, history.OK, ""},
}

// written writes operations down as events. Not all can be: one that the
// server log showed to be later than its call, or two of one owner at once.
func written(ops []Op) *history.History {
	h := &history.History{}
	now := map[int32]int64{} // owner -> return of its operation before
	for i := range ops {
		o := &ops[i]
		if o.Call != o.Asked || o.Call < now[o.Owner] || o.Call < 0 {
			return nil
		}
		is := outcomes[o.Kind]
		e := history.Event{Op: int64(i + 1), F: is.f, Client: fmt.Sprintf("client-%d", o.Owner), Lock: "lock"}
		e.Owner = e.Client + "/1"
		inv, ret := e, e
		inv.Time, inv.Kind, inv.Args = o.Call, history.Invoke, &history.Args{Renewed: o.Renewed}
		if o.Lease < Forever {
			inv.Args.Lease = o.Lease
		}
		h.Events = append(h.Events, inv)
		ret.Time, ret.Kind, ret.Result = o.Return, is.kind, &history.Result{Count: int(o.Count), Error: is.class}
		if o.Return >= Forever {
			ret.Time = o.Call // when its client gave up does not matter
		}
		now[o.Owner] = ret.Time
		if !o.Crashed {
			h.Events = append(h.Events, ret)
		} else {
			h.Events = append(h.Events, history.Event{Time: o.Call, Kind: history.Note, F: history.Crashed, Client: e.Client})
			now[o.Owner] = Forever
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
