// Package checker judges recorded lock histories: thirteen properties, each with a
// verdict. It needs only the history: no lock, world or scenario.
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
	// Judges is one of [Judges], or empty for the first.
	Judges string
	// Begin is called with every property before its judgement; it may be nil.
	Begin func(Property)

	fast func([]linear.Op, linear.Rules, time.Duration) linear.Ruling // tests put another judge here
}

// Report is the judgement of one history.
type Report struct {
	// Verdicts has an entry for every property that the lock claims and that
	// the history can decide.
	Verdicts map[Property]Verdict
	// Vacuous is the reason for a run that proves nothing, or empty. A planned fault
	// never struck, a kind of operation never succeeded, or there were too few grants. A
	// release that is refused as not held after a fault counts as one that succeeded. In
	// a vacuous run no verdict is ok.
	Vacuous string
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
	if err := h.Validate(); err != nil {
		return Report{}, err
	}
	t := newTrace(h)
	r := Report{Verdicts: map[Property]Verdict{}, Vacuous: whyVacuous(h)}
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
		r.Verdicts[p.Name] = t.nameClocks(t.excuseClocks(v))
	}
	return r, disagreement
}
