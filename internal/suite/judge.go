package suite

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Record stores the facts of a play in r.
func Record(r *results.Run, p *play.Played) {
	r.HistorySHA256, r.Server = p.History.Hash(), p.History.Header.Server
	r.Stats = results.Stats{
		Ops: countOps(p.History), VirtualMS: float64(p.Took) / float64(time.Millisecond), Commands: p.Commands,
	}
}

func countOps(h *history.History) int {
	n := 0
	for _, e := range h.Events {
		if e.Kind == history.Invoke {
			n++
		}
	}
	return n
}

// Judge judges a history and stores the verdicts in r, beside the expected ones.
// The error reports a defect of Holdfast: the judges contradict each other, or the
// recorded history is invalid.
func Judge(r *results.Run, s *scenarios.Scenario, l *locks.Lock, h *history.History) error {
	judged, err := checker.Judge(h, checker.Options{})
	r.Verdicts = judged.Verdicts
	expect(r, s, l)
	if err != nil && !errors.As(err, new(*checker.DisagreementError)) {
		return fmt.Errorf("the recorded history is invalid: %w", err)
	}
	return err
}

// expect fills in what the scenario argues for, and compares. Where another verdict will
// do as well, and is the one that was found, it is noted as the expected one.
func expect(r *results.Run, s *scenarios.Scenario, l *locks.Lock) {
	r.Expected = map[checker.Property]checker.Outcome{}
	r.ExpectedClass = map[checker.Property]string{}
	r.Because = map[checker.Property]string{}
	r.AsExpected = len(r.Verdicts) > 0
	for property, e := range s.Expected(l) {
		v, judged := r.Verdicts[property]
		if !judged {
			if e.Outcome != checker.OutcomeOK && !e.OrBetter { // an expectation of something the lock does not claim
				r.AsExpected = false
				r.Failure = fmt.Sprintf("the scenario expects a verdict on %s, which %s does not claim", property, r.Lock)
			}
			continue
		}
		met := e.Met(property, v)
		if met && (e.OrBetter || e.OrInherent) {
			e.Outcome, e.Class = v.Outcome, v.Class
		}
		if e.OrInherent && v.Inherent != "" {
			e.Because = "No lock with these claims could have avoided it: " + v.Inherent + "."
		}
		r.Expected[property], r.Because[property] = e.Outcome, e.Because
		if e.Class != "" {
			r.ExpectedClass[property] = e.Class
		}
		if !met {
			r.AsExpected = false
		}
	}
}
