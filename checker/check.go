// Package checker judges recorded lock histories: twelve properties, each with a
// verdict. It needs only the history, and knows no lock, world or scenario.
// Package linear, below it, decides linearizability.
package checker

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// Options configure [Judge]. The zero value suits most uses.
type Options struct {
	// Budget limits the search of the judges of linearizability; after it their
	// verdict is unknown. 0 means 20 seconds. The explanation of a violation
	// may take some seconds more.
	Budget time.Duration
	// Judges selects the judges of linearizability.
	Judges linear.Choice
	// Begin is called with every property before its judgement; it may be nil.
	Begin func(Property)

	fast func([]linear.Op, linear.Rules, time.Duration) linear.Ruling // tests put another judge here
}

// Report is the judgement of one history.
type Report struct {
	// Verdicts has an entry for every property that the lock claims and that
	// the history can decide.
	Verdicts map[Property]Verdict
	// Vacuous is the reason why the run proves nothing, or empty: a planned
	// fault never struck, a kind of operation never succeeded, or there were
	// too few grants. A release that is refused as not held after a fault counts
	// as one that succeeded. In a vacuous run no verdict is ok.
	Vacuous string
}

// PropertyInfo describes a property for people.
type PropertyInfo struct {
	Name    Property
	Promise string // one sentence
}

// Judge returns a verdict on every property that the lock of a history claims. The
// same history gives the same report, unless the budget runs out. Judge does not
// change the history.
//
// The error is an [*history.InvalidError] for an invalid history. It is a
// [*linear.DisagreementError], beside a complete report, if the two judges of
// linearizability contradict each other. There is no other error.
func Judge(h *history.History, o Options) (Report, error) {
	if o.Budget <= 0 {
		o.Budget = 20 * time.Second
	}
	if err := history.Validate(h); err != nil {
		return Report{}, err
	}
	t := newTrace(h)
	r := Report{Verdicts: map[Property]Verdict{}, Vacuous: vacuous(h)}
	var disagreement error
	for _, p := range properties {
		if p.claimed != nil && !p.claimed(&h.Header) {
			continue
		}
		if o.Begin != nil {
			o.Begin(p.Name)
		}
		v, err := p.judge(t, o)
		disagreement = cmp.Or(disagreement, err)
		if len(v.Ops) > linear.MaxCause {
			v.Ops = v.Ops[:linear.MaxCause]
		}
		if r.Vacuous != "" && v.Outcome == OutcomeOK {
			v = Verdict{Outcome: Unknown, Reason: r.Vacuous}
		}
		r.Verdicts[p.Name] = v
	}
	return r, disagreement
}

// Properties lists the twelve properties in the order of reports.
func Properties() []PropertyInfo {
	infos := make([]PropertyInfo, len(properties))
	for i, p := range properties {
		infos[i] = p.PropertyInfo
	}
	return infos
}

// property is a promise and its judge.
type property struct {
	PropertyInfo
	claimed func(*history.Header) bool // nil: every lock promises it
	judge   func(*trace, Options) (Verdict, error)
}

var properties []property

func init() {
	plain := func(f func(*trace) Verdict) func(*trace, Options) (Verdict, error) {
		return func(t *trace, _ Options) (Verdict, error) { return f(t), nil }
	}
	// byLog is for judges that see everything in the server log.
	byLog := func(f func(*trace) Verdict) func(*trace, Options) (Verdict, error) {
		return plain(func(t *trace) Verdict {
			switch {
			case len(t.changes) > 0:
				return byServers(f(t))
			case len(t.beliefs) > 0:
				return Verdict{Outcome: Unknown, Reason: noServerLog}
			}
			return f(t)
		})
	}
	properties = []property{
		{PropertyInfo{Exclusion, "No two owners hold the lock at once."}, nil, plain(judgeExclusion)},
		{PropertyInfo{Linearizable, "Every outcome is possible for a single lock that serves one request at a time."}, nil, judgeLinearizable},
		{PropertyInfo{ResourceSafe, "The guarded resource loses no update and, when fenced, accepts no stale write."},
			func(h *history.Header) bool { return h.Resource != nil }, plain(judgeResource)},
		{PropertyInfo{Fencing, "Fencing tokens grow from hold to hold and stay the same within one."},
			func(h *history.Header) bool { return h.Claims.Fencing }, plain(func(t *trace) Verdict { return t.fencing })},
		{PropertyInfo{Ownership, "Only its owner releases or renews a hold."},
			func(h *history.Header) bool { return !h.Unwatched }, byLog(judgeOwnership)},
		{PropertyInfo{Count, "Hold counts are right, and as many releases as acquires leave nothing behind."}, nil, plain(judgeCount)},
		{PropertyInfo{Lease, "The server never keeps a hold shorter than the lease owed, longer than asked, or for ever."},
			func(h *history.Header) bool { return h.Claims.Lease && !h.Unwatched }, byLog(judgeLease)},
		{PropertyInfo{Renewal, "A renewed hold is renewed in time while it lives, and never after."},
			func(h *history.Header) bool { return h.Claims.Renewal && !h.Unwatched }, byLog(judgeRenewal)},
		{PropertyInfo{Progress, "Every waiter gets the lock or its timeout in time, and none sleeps on a free lock."}, nil, plain(judgeProgress)},
		{PropertyInfo{Fairness, "Waiters get the lock in the order in which they came."},
			func(h *history.Header) bool { return h.Claims.Fairness }, plain(judgeFairness)},
		{PropertyInfo{Errors, "Every outcome has one error class, the documented one."}, nil, plain(judgeErrors)},
		{PropertyInfo{Cleanup, "At the end no key, subscription, connection or goroutine remains."}, nil, plain(judgeCleanup)},
	}
}
