package scenarios

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// need is a requirement of a scenario for its locks.
type need struct {
	word string
	does bool // a habit of a lock, and not a claim
	// met reports whether a lock meets it. Every third-party lock meets a need
	// for a habit: the run shows whether the fault finds a target.
	met func(*locks.Lock) bool
}

// needs are all of them, in the order of the documentation: the claims first.
var needs = slices.Concat(claimNeeds(), []need{
	{"acks", false, func(l *locks.Lock) bool { return l.Acks || l.ThirdParty != nil && l.ThirdParty.Acks }},
	{"quorum", false, func(l *locks.Lock) bool { return l.Quorum() < l.Groups }},
	{"every_primary", false, func(l *locks.Lock) bool { return l.Groups > 1 && l.Quorum() == l.Groups }},
	{"scripts", true, habit(func(h locks.Habits) bool { return h.Scripts })},
	{"looks", true, habit(func(h locks.Habits) bool { return h.Looks })},
	{"clock", true, func(l *locks.Lock) bool { return l.Habits.Clock || l.ThirdParty != nil }}, // any process of another may
})

func claimNeeds() []need {
	var all []need
	for _, name := range (history.Claims{}).Names() {
		all = append(all, need{name, false, func(l *locks.Lock) bool { return l.Claims.Has(name) }})
	}
	return all
}

func habit(has func(locks.Habits) bool) func(*locks.Lock) bool {
	return func(l *locks.Lock) bool {
		return has(l.Habits) || l.ThirdParty != nil && l.Open != nil
	}
}

// NeedWords are the allowed words of a scenario's needs.
func needWords() []string {
	words := make([]string, len(needs))
	for i, n := range needs {
		words[i] = n.word
	}
	return words
}

// meets reports whether a lock meets the needs of the scenario, or the missing one.
func (s *Scenario) meets(l *locks.Lock) (ok bool, reason string) {
	for _, n := range needs {
		if slices.Contains(s.Needs, n.word) && !n.met(l) {
			if n.does {
				return false, "needs " + n.word + ", which it does not do"
			}
			return false, lacks(n.word)
		}
	}
	return true, ""
}

// lacks is the reason why a scenario skips a lock without a claim.
func lacks(word string) string { return "it does not claim " + word }
