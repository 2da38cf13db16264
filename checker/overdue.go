package checker

import "github.com/holdfast-go/holdfast/history"

// isCutOff is the reason of verdicts on what a history that was cut off cannot
// show.
const isCutOff = "the history is cut off: nobody looked at what remained"

// overdue checks a bounded wait that was not over when the history was cut
// off: only one that should have been is the lock's fault.
func (t *trace) overdue(o *op) Verdict {
	if o.f != history.Acquire || o.args.Wait < 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	excused := t.overlap(o.inv, t.endTime, t.allow.healing, func(f *faultSpan) bool { return f.touchesClient(o.client) })
	late := t.endTime - o.inv - o.args.Wait - excused
	if late <= t.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(o.inv+o.args.Wait, opIDs(o), "the acquire of %s was to wait at most %s from %s on and had not returned %s later, when the history was cut off",
		o.owner, long(o.args.Wait), at(o.inv), long(late))
}
