package scenarios

import (
	"slices"

	"github.com/holdfast-go/holdfast/subject"
)

// need is what a scenario can ask of the locks that it is played with.
type need struct {
	word string
	does bool // it is what a lock does, and not a claim
	// met says whether a lock has it. What only a habit of a lock can meet is met
	// by each third-party lock: whether there is anything to strike shows when it
	// is played.
	met func(*subject.Subject) bool
}

// needs are all of them, in the order of the documentation.
var needs = []need{
	{"waits", false, claims(func(c subject.Claims) bool { return c.Waits })},
	{"cancels", false, claims(func(c subject.Claims) bool { return c.Cancels })},
	{"closes", false, claims(func(c subject.Claims) bool { return c.Closes })},
	{"reentrant", false, claims(func(c subject.Claims) bool { return c.Reentrant })},
	{"lease", false, claims(func(c subject.Claims) bool { return c.Lease })},
	{"explicit", false, claims(func(c subject.Claims) bool { return c.Explicit })},
	{"renewal", false, claims(func(c subject.Claims) bool { return c.Renewal })},
	{"lost_sign", false, claims(func(c subject.Claims) bool { return c.LostSign })},
	{"fencing", false, claims(func(c subject.Claims) bool { return c.Fencing })},
	{"fairness", false, claims(func(c subject.Claims) bool { return c.Fairness })},
	{"takes_back", false, claims(func(c subject.Claims) bool { return c.TakesBack })},
	{"messages", false, claims(func(c subject.Claims) bool { return c.Messages })},
	{"acks", false, func(l *subject.Subject) bool { return l.Acks || l.ThirdParty != nil && l.ThirdParty.Acks }},
	{"quorum", false, func(l *subject.Subject) bool { return l.Quorum() < l.Groups }},
	{"every_primary", false, func(l *subject.Subject) bool { return l.Groups > 1 && l.Quorum() == l.Groups }},
	{"scripts", true, habit(func(h subject.Habits) bool { return h.Scripts })},
	{"looks", true, habit(func(h subject.Habits) bool { return h.Looks })},
}

func claims(made func(subject.Claims) bool) func(*subject.Subject) bool {
	return func(l *subject.Subject) bool { return made(l.Promises()) }
}

func habit(has func(subject.Habits) bool) func(*subject.Subject) bool {
	return func(l *subject.Subject) bool {
		return has(l.Habits) || l.ThirdParty != nil && l.Open != nil
	}
}

// NeedWords are the words that a scenario's needs are made of.
func NeedWords() []string {
	words := make([]string, len(needs))
	for i, n := range needs {
		words[i] = n.word
	}
	return words
}

// meets says whether a lock has what the scenario needs, and if not, what it lacks.
func (s *Scenario) meets(l *subject.Subject) (ok bool, reason string) {
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

// lacks is why a scenario is not played with a lock that does not make a claim.
func lacks(word string) string { return "needs " + word + ", which it does not claim" }
