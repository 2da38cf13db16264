package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Fairness: Waiters get the lock in the order in which they came.
const Fairness Property = "fairness"

var fairnessProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Fairness, Promise: "Waiters get the lock in the order in which they came.",
		Broken: "the lock is not granted in order of arrival",
	},
	harm:    always(wrongAnswer),
	claimed: func(h *history.Header) bool { return h.Claims.Fairness || h.Claims.PrefersWriters },
	judge:   plainly(func(t *trace) Verdict { return fairnessJudge{t}.judge() }),
}

// arrivalSlack is the distance of two invocations that guarantees their order at
// the servers, on a fast network. On a busy machine, one request may wait longer for
// its turn than another.
const arrivalSlack = 50 * millisecond

// messagesAgain is the number of messages, one after the other, that bring an acquire to a
// server that has answered its client before. The client may open another connection
// (2), greet (2), and learn that the server forgot the script (2).
const messagesAgain = 7

// arrivalOf is when an acquire has certainly arrived. The first request of a client has
// to find the servers and load its script as well. answered is when each client had
// its first answer.
func (j fairnessJudge) arrivalOf(o *op, answered map[string]int64) int64 {
	messages := int64(messagesOfRequest)
	if first, any := answered[o.client]; any && first <= o.inv {
		messages = messagesAgain
	}
	return o.inv + max(arrivalSlack, messages*min(j.h.Header.Latency, second)) + j.allow.machine
}

type fairnessJudge struct{ *trace }

// judge checks that no acquire is granted before one that was already waiting
// when it came. The earlier one must have been granted later, or refused at the end of
// its wait. A waiter whose client a fault touched may have lost its place.
func (j fairnessJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	waiting := map[string][]*op{} // by lock, neither granted nor refused before the acquire at hand came
	answered := map[string]int64{}
	for _, o := range j.ops {
		if first, any := answered[o.client]; o.onLock() && (o.kind == history.OK || o.failed(history.ErrBusy)) && (!any || o.ret < first) {
			answered[o.client] = o.ret
		}
	}
	for _, b := range j.ops {
		granted := b.kind == history.OK
		if b.f != history.Acquire || (!granted && !b.failed(history.ErrBusy)) {
			continue
		}
		waiting[b.lock] = append(slices.DeleteFunc(waiting[b.lock], func(a *op) bool { return a.ret < b.inv }), b)
		for _, a := range waiting[b.lock] {
			if !granted || a.inv >= b.inv {
				break
			}
			if j.claims.PrefersWriters && (a.args.Mode == history.Shared || b.args.Mode != history.Shared) {
				continue // only a reader waits behind a writer, and anybody may pass a reader
			}
			if a.owner == b.owner || b.args.Self != "" || j.arrivalOf(a, answered) >= b.inv || !j.stillWaiting(a, b.ret) || b.res.Count > 1 {
				continue
			}
			if j.overlap(a.inv, b.ret, j.allow.healing, touches(a.client)) > 0 || j.keptPlace(b, a.inv) {
				continue
			}
			v = earlier(v, inherently(violation(b.ret, opIDs(a, b), "%s was granted the lock at %s before %s, which had waited since %s, longer than it",
				j.claims.NameOwner(b.args.Share, b.owner), at(b.ret), j.claims.NameOwner(a.args.Share, a.owner), at(a.inv)), cmp.Or(j.queuesApart(a, b), j.whyTurnForgotten(b))))
		}
	}
	return v
}

// keptPlace reports whether the owner of an acquire may have stood in the queue by a time. A
// fault may have kept the end of its earlier wait from the servers, which then keep its place.
// Or it still has the lock, because a release without an answer never arrived.
func (j fairnessJudge) keptPlace(o *op, by int64) bool {
	for o.inv > by && !o.followsUnclearRelease() {
		o = o.own.ops.last(o.inv-1, isAcquire)
		if o == nil || o.granted() || j.overlap(o.inv, o.ret, j.allow.healing, touches(o.client)) == 0 {
			return false
		}
	}
	return true
}

// queuesApart returns the reason why two acquires may have stood in queues of two servers; "" if they did not.
func (j fairnessJudge) queuesApart(a, b *op) string {
	fork := slices.IndexFunc(j.faults, func(f *faultSpan) bool { return f.Forks && f.from <= b.ret && f.forgotUntil() >= a.inv })
	granted, waited := j.carriedOutBy(b), j.carriedOutBy(a)
	if fork < 0 || slices.ContainsFunc(granted, func(node string) bool { return slices.Contains(waited, node) }) {
		return ""
	}
	return fmt.Sprintf("after the fault at %s two servers answered, and each had a queue of its own", at(j.faults[fork].from))
}

// whyTurnForgotten returns the reason why the owner of an acquire may have kept the place in which it
// had been served before; "" if it did not. The server that keeps the queue has never heard of that.
func (j fairnessJudge) whyTurnForgotten(o *op) string {
	served := o.own.ops.last(o.inv-1, isAcquire)
	if served == nil || !served.granted() {
		return ""
	}
	for _, f := range j.faults {
		if f.Promotes && served.inv <= f.from && f.from <= o.inv && !o.own.anyHeld(served.inv, f.from, func(s *span) bool { return s.node == f.promoted }) {
			return fmt.Sprintf("the server that took over at %s never heard that %s had had its turn", at(f.from), o.owner)
		}
	}
	return ""
}

// stillWaiting reports whether an acquire was in the queue at a time. A refused
// acquire leaves the queue before it returns.
func (j fairnessJudge) stillWaiting(a *op, when int64) bool {
	if a.failed(history.ErrBusy) {
		return a.ret > when+arrivalSlack+j.allow.machine
	}
	return a.ret > when
}
