package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// begins describes the request of an owner.
func (t *teller) begins(e *history.Event) {
	a, about := cmp.Or(e.Args, &history.Args{}), ""
	switch {
	case e.F == history.Write:
		about = fmt.Sprintf(" %d over %d", a.Value, a.Base)
	case a.Lease > 0:
		about = " with a lease of " + length(a.Lease)
	}
	if a.Renewed {
		about += " that is renewed"
	}
	if a.Token != 0 {
		about += ", token " + number(a.Token)
	}
	if a.Wait > 0 {
		about += ", waiting up to " + length(a.Wait)
	}
	t.say(e, smallTalk, "%s calls %s%s.", t.f.NameOf(e.Client, e.Owner), english.Clean(string(e.F)), about)
}

func (t *teller) succeeded(e *history.Event) {
	who, op := t.f.NameOf(e.Client, e.Owner), t.f.Ops[e.Op]
	if op == nil || e.Result == nil {
		return
	}
	switch e.F {
	case history.Acquire:
		if !t.summed[e.Op] {
			t.granted(e, who, e.Time-op.Invoke.Time)
		}
	case history.Release:
		switch {
		case t.summed[e.Op]:
		case e.Result.Count > 0:
			t.say(e, ordinary, "%s gives one hold back, and has %d left.", who, e.Result.Count)
		default:
			t.say(e, ordinary, "%s gives the lock back.", who)
		}
	case history.Extend:
		t.say(e, ordinary, "%s extends its hold, which lasts %s from now on.", who, length(op.Invoke.Args.Lease))
	case history.Observe:
		who = t.f.NameOf(e.Client, e.Client)
		if holder := e.Result.Holder; t.all || t.proven[e.Op] {
			t.say(e, telling, "%s asks who holds the lock: %s.", who, cmp.Or(english.Clean(holder), "nobody"))
		}
	case history.Write:
		for _, l := range t.f.Lost {
			if l.Event == e {
				t.say(e, unmissable, "%s writes %d: it had read %d and overwrites %d, a value it never saw. One update is lost.",
					who, l.Args.Value, l.Args.Base, e.Result.Value).Bad = true
				return
			}
		}
		if t.all || t.proven[e.Op] {
			t.say(e, telling, "%s writes %d.", who, value(op.Invoke.Args))
		}
	case history.Read:
		if t.all || t.proven[e.Op] {
			t.say(e, telling, "%s reads %d.", who, e.Result.Value)
		}
	default:
		if t.all {
			t.say(e, smallTalk, "%s's %s returns: count %d.", who, english.Clean(string(e.F)), e.Result.Count)
		}
	}
}

// granted describes an acquire that succeeded after a wait.
func (t *teller) granted(e *history.Event, who string, waited int64) {
	c := t.beliefs[e.Op]
	if c == nil && e.Result.Count > 1 {
		t.say(e, ordinary, "%s takes one more hold on the lock, and has %d.", who, e.Result.Count)
		return
	}
	var about []string
	if e.Result.Token != 0 {
		about = append(about, "token "+number(e.Result.Token))
	}
	if waited >= 20e6 {
		about = append(about, "after waiting "+length(waited))
	}
	extra := ""
	if len(about) > 0 {
		extra = " (" + strings.Join(about, ", ") + ")"
	}
	var others []string
	taken := 0
	if c != nil && c.To > c.From {
		for _, o := range t.f.beliefsAt(c.From, c.Lock, c.Owner) {
			others, taken = append(others, t.f.NameOf(o.Client, o.Owner)), taken+o.Weight
		}
		if t.f.History.Header.Claims.Capacity() > 1 && !slices.ContainsFunc(t.f.Overlaps, func(o checker.Overlap) bool { return o.B.AcquireOp == e.Op }) {
			others = nil // there is room for all of them
		}
	}
	if len(others) == 0 {
		t.say(e, ordinary, "%s gets the lock%s.", who, extra).grant = true
		return
	}
	believe := "believes that it holds"
	if len(others) > 1 {
		believe = "believe that they hold"
	}
	s := t.say(e, unmissable, "%s gets the lock%s while %s still %s it: %s from here on.", who, extra, english.And(others), believe, t.f.crowd(len(others)+1, taken+c.Weight))
	s.Bad, s.grant = true, true
}

// CrowdOf names the owners of an overlap.
func (f *Facts) CrowdOf(o checker.Overlap) string {
	return f.crowd(2, o.Taken) // of a mutex, these two alone are too many
}

// crowd names so many owners that hold a lock together, or the permits that they take.
func (f *Facts) crowd(n, taken int) string {
	switch permits := f.History.Header.Claims.Permits; {
	case permits > 1:
		return fmt.Sprintf("%d of %d permits", taken, permits)
	case n == 2:
		return "two holders"
	}
	return fmt.Sprintf("%d holders", n)
}

func value(a *history.Args) int64 {
	if a == nil {
		return 0
	}
	return a.Value
}

// refused describes an operation that failed, or whose outcome is unknown.
func (t *teller) refused(e *history.Event) {
	who, class, msg := t.f.NameOf(e.Client, e.Owner), "", ""
	if e.Result != nil {
		class, msg = english.Clean(e.Result.Error), english.Clean(e.Result.Message)
	}
	class = cmp.Or(class, "no error class")
	if msg != "" {
		msg = ": " + english.Short(msg, 120)
	}
	switch {
	case e.Kind == history.Info:
		t.say(e, telling, "Nobody knows whether %s's %s happened (%s%s).", who, english.Clean(string(e.F)), class, msg)
	case e.F == history.Acquire && class == history.ErrBusy:
		waited := ""
		if op := t.f.Ops[e.Op]; op != nil && e.Time > op.Invoke.Time {
			waited = " within " + length(e.Time-op.Invoke.Time)
		}
		t.say(e, ordinary, "%s does not get the lock%s (busy).", who, waited)
	case e.F == history.Write && class == history.ErrStale:
		token := ""
		if op := t.f.Ops[e.Op]; op != nil && op.Invoke.Args != nil {
			token = fmt.Sprintf(" with token %d", op.Invoke.Args.Token)
		}
		t.say(e, decisive, "The resource refuses %s's write%s: it has seen a newer token.", who, token)
	case e.F == history.Read && class == history.ErrStale:
		t.say(e, decisive, "The resource refuses %s's read: it has seen a newer token.", who)
	case e.F == history.Extend && (class == history.ErrNotHeld || class == history.ErrLost):
		t.say(e, telling, "%s wants to extend its hold and learns that it no longer holds the lock (%s).", who, class)
	case e.F == history.Release && (class == history.ErrNotHeld || class == history.ErrLost):
		t.say(e, telling, "%s wants to give the lock back and learns that it no longer holds it (%s).", who, class)
	default:
		t.say(e, telling, "%s's %s fails (%s%s).", who, english.Clean(string(e.F)), class, msg)
	}
}

func (t *teller) note(e *history.Event) {
	who, msg := t.f.NameOf(e.Client, e.Owner), ""
	if e.Result != nil && e.Result.Message != "" {
		first, _, _ := strings.Cut(e.Result.Message, "\n")
		msg = ": " + english.Short(english.Clean(first), 120)
	}
	switch e.F {
	case history.Lost:
		t.say(e, decisive, "%s learns that its hold is lost%s.", who, msg)
	case history.Stopped:
		t.say(e, decisive, "%s stops its work: the validity of its hold is over.", who)
	case history.Crashed:
		holding := ""
		for _, c := range t.f.Beliefs {
			if c.Client == e.Client && c.EndedBy == "crash" && c.To == e.Time {
				holding = ", holding the lock"
			}
		}
		t.say(e, decisive, "%s is gone%s%s.", english.Name(e.Client), holding, msg)
	case history.Closed:
		took := ""
		if d := e.Time - e.Began(); d > 0 {
			took = ", which took " + length(d)
		}
		t.say(e, telling, "%s has closed its lock handle%s.", english.Name(e.Client), took)
	case history.Panic:
		t.say(e, unmissable, "The lock panics in %s%s.", who, msg).Bad = true
	default:
		t.say(e, telling, "%s notes: %s%s.", who, english.Clean(string(e.F)), msg)
	}
}
