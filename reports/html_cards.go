package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// cardView is the card of a lock on the first screen.
type cardView struct {
	Lock, Class, Verdict string
	Breaks               []breakView
	Costs                string
	Advice               []string
}

// breakView is one way of breaking, with the hazards that cause it.
type breakView struct{ How, Class, Under string }

// hazards is the order of the groups of scenarios.
func (p *pager) hazards() []string {
	all := slices.Clone(p.d.Hazards)
	for _, s := range p.m.scenarios {
		all = added(all, p.hazard(s))
	}
	return all
}

func (p *pager) hazard(scenario string) string {
	return cmp.Or(p.d.about(scenario).Hazard, otherHazards)
}

func (p *pager) cardViews() []cardView {
	var all []cardView
	for _, c := range p.tally.cards(p.m.locks, p.hazards()) {
		v := cardView{Lock: english.Name(c.lock), Class: "ok", Verdict: "survives everything that was played", Costs: p.costs(c.lock)}
		broken, own := map[string]bool{}, map[string]bool{}
		for _, b := range c.breaks {
			broken[b.hazard] = true
			if !b.inherent {
				own[b.hazard] = true
			}
			if n := len(v.Breaks); n > 0 && v.Breaks[n-1].How == b.harm.String() {
				v.Breaks[n-1].Under += ", " + english.Clean(b.hazard)
			} else {
				v.Breaks = append(v.Breaks, breakView{b.harm.String(), looks[harmMark(b.harm)].word, english.Clean(b.hazard)})
			}
		}
		if len(broken) > 0 {
			verb, some := "breaks", ""
			v.Class = looks[harmMark(c.breaks[0].harm)].word
			switch {
			case len(own) == 0:
				v.Class, verb = "inherent", "breaks as any lock with the same promises would,"
			case len(own) < len(broken):
				some = fmt.Sprintf("; its own fault under %d", len(own))
			}
			v.Verdict = fmt.Sprintf("%s under %s of %d%s", verb, english.Count(len(broken), "hazard"), len(broken)+len(c.survives)+len(c.unknown), some)
		} else if len(c.unknown) > 0 {
			v.Class, v.Verdict = "unknown", "not everything was decided"
		}
		v.Advice = english.Words(c.advice, english.Clean)
		if len(c.survives)+len(c.breaks)+len(c.unknown) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// costs are the costs of a lock for its servers. Simulated milliseconds follow
// from assumed latencies, so it counts hand-offs in round trips.
func (p *pager) costs(lock string) string {
	n := p.numbers[lock]
	if n == nil {
		return ""
	}
	var parts []string
	if n.grants > 0 && n.commands > 0 {
		parts = append(parts, fmt.Sprintf("%.1f requests for each hold", float64(n.commands)/float64(n.grants)))
	}
	if median, ok := n.handoff(); ok && n.roundTrip > 0 {
		if trips := median / n.roundTrip; trips < 0.05 {
			parts = append(parts, "hand-off at once")
		} else {
			parts = append(parts, fmt.Sprintf("hand-off in %.1f round trips", trips))
		}
	}
	return strings.Join(parts, ", ")
}

// tone classifies the answer for the first screen: good, with an argued
// violation, or in need of attention.
func (p *pager) tone() string {
	if p.d.Results.Interrupted || len(p.d.Results.Runs) == 0 {
		return "attention"
	}
	tone := "good"
	for i := range p.d.Results.Runs {
		r := &p.d.Results.Runs[i]
		if !r.Passed() {
			return "attention"
		}
		if some(r, func(v checker.Verdict) bool { return v.Outcome == checker.Violated }) {
			tone = "argued"
		}
	}
	return tone
}

// question states the question of the run, in one sentence.
func (p *pager) question() string {
	count := func(names []string, one string) string {
		if len(names) == 1 {
			return english.Name(names[0])
		}
		return english.Count(len(names), one)
	}
	var scenarios, locks []string
	for i := range p.d.Results.Runs {
		r := &p.d.Results.Runs[i]
		scenarios = added(scenarios, r.Scenario)
		locks = added(locks, r.Lock) // which may have a column for each kind of user
	}
	switch {
	case len(locks) == 0:
		return "Nothing was asked"
	case len(locks) == 1:
		return fmt.Sprintf("Does %s keep its promises in %s?", count(locks, "lock"), count(scenarios, "scenario"))
	}
	return fmt.Sprintf("Which of %s keep their promises in %s?", english.Count(len(locks), "lock"), count(scenarios, "scenario"))
}
