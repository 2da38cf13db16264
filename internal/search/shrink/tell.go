package shrink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Played has the verdicts of a built-in lock in a shrunk scenario. Locks that it does not
// apply to are left out.
type Played struct {
	Lock     string
	Verdicts map[checker.Property]checker.Verdict
}

// Finding is the violation of a shrunk scenario.
type Finding struct {
	Lock   string // with which it was found
	Seed   uint64
	Target Target
	Reason string // of the verdict
	From   string // the name of the scenario that was shrunk
}

// Tell is a shrunk scenario with a name, a title and a story. It expects the verdicts of
// the built-in locks, so that it comes out as expected with the seed of the finding.
// Locks with which the run proves nothing are left out of the scenario.
func Tell(s *scenarios.Scenario, f Finding, all []Played) *scenarios.Scenario {
	c := clone(s)
	c.Name, c.Title, c.Story = nameOf(c, f.Target), titleOf(c, f), storyOf(c, f)
	c.Expect, c.Needs, c.Only, c.Except = nil, nil, nil, nil
	groups := map[string][]Played{}
	var keys []string
	for _, p := range all {
		if why := undecided(p.Verdicts); why != "" && p.Lock != f.Lock {
			if c.Except == nil {
				c.Except = map[string]string{}
			}
			c.Except[p.Lock] = "The run proves nothing with it: " + why + "."
			continue
		}
		key := fmt.Sprint(notOK(p.Verdicts)) // maps are printed in order of their keys
		if len(groups[key]) == 0 {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], p)
	}
	for _, key := range keys {
		if len(notOK(groups[key][0].Verdicts)) > 0 {
			c.Expect = append(c.Expect, expectOf(groups[key]))
		}
	}
	c.Otherwise = fmt.Sprintf("All built-in locks that it applies to were played with seed %d, and nothing else came out violated.", f.Seed)
	return c
}

// notOK are the verdicts that a scenario has to expect, in its words.
func notOK(verdicts map[checker.Property]checker.Verdict) map[string]string {
	words := map[string]string{}
	for p, v := range verdicts {
		if v.Outcome != checker.OutcomeOK {
			words[string(p)] = cmp.Or(v.Class, string(v.Outcome))
		}
	}
	return words
}

// undecided is the reason for an unknown verdict, "" without one.
func undecided(verdicts map[checker.Property]checker.Verdict) string {
	for _, p := range slices.Sorted(maps.Keys(verdicts)) {
		if v := verdicts[p]; v.Outcome == checker.Unknown {
			return strings.TrimRight(v.Reason, ".")
		}
	}
	return ""
}

// expectOf has the expectations of locks with the same verdicts. The reasons are those of
// the first.
func expectOf(group []Played) scenarios.Expect {
	first := group[0]
	e := scenarios.Expect{Verdicts: notOK(first.Verdicts)}
	e.Locks = english.Words(group, func(p Played) string { return p.Lock })
	var reasons []string
	for _, p := range checker.Properties() {
		v := first.Verdicts[p.Name]
		if reason := sentence(v.Reason); v.Outcome != checker.OutcomeOK && v.Reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"It was seen in a run."}
	}
	e.Because = strings.Join(reasons, " ")
	if len(group) > 1 {
		e.Because = "With " + first.Lock + ": " + e.Because
	}
	e.Because = wrap(e.Because)
	return e
}

// nameOf has the violation and the faults that it took: "found-exclusion-failover".
func nameOf(s *scenarios.Scenario, t Target) string {
	name := "found-" + string(t.Property)
	for _, kind := range kindsOf(s) {
		if longer := name + "-" + kind; len(longer) <= 64 {
			name = longer
		}
	}
	return name
}

func kindsOf(s *scenarios.Scenario) (kinds []string) {
	for _, f := range s.Faults {
		if !slices.Contains(kinds, f.Fault) {
			kinds = append(kinds, f.Fault)
		}
	}
	return kinds
}

// broken says what a violation of a property is.
func broken(name checker.Property) string {
	all := checker.Properties()
	return all[slices.IndexFunc(all, func(p checker.PropertyInfo) bool { return p.Name == name })].Broken
}

func titleOf(s *scenarios.Scenario, f Finding) string {
	title := broken(f.Target.Property)
	if f.Target.Class != "" {
		title += " (" + f.Target.Class + ")"
	}
	if kinds := kindsOf(s); len(kinds) > 0 {
		title += ", with " + english.And(kinds)
	} else {
		title += ", and nothing fails"
	}
	return f.Lock + ": " + title
}

func storyOf(s *scenarios.Scenario, f Finding) string {
	parts := []string{workOf(s)}
	parts = append(parts, english.Words(s.Faults, faultWords)...)
	parts = append(parts, fmt.Sprintf("What was seen with %s and seed %d: %s", f.Lock, f.Seed,
		sentence(cmp.Or(f.Reason, broken(f.Target.Property)))))
	if f.From != "" {
		parts = append(parts, fmt.Sprintf(leftOf+" %s when all is left out that it does not take.", f.From))
	}
	return wrap(strings.Join(parts, " "))
}

// leftOf begins a sentence in every story that [Tell] writes about another
// scenario.
const leftOf = "This is what is left of"

func Wrote(s *scenarios.Scenario) bool {
	return strings.Contains(strings.Join(strings.Fields(s.Story), " "), leftOf+" ")
}

// wrap breaks a text into lines that are easy to read in a file.
func wrap(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 110 {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n") + "\n"
}

func workOf(s *scenarios.Scenario) string {
	w := s.Workload
	who := "One client takes the lock"
	if n := s.Topology.Clients; n > 1 {
		who = fmt.Sprintf("%d clients take the lock", n)
	}
	text := fmt.Sprintf("%s, %s, with a lease of %v.", who, howOften(allHolds(s), s.Topology.Clients), time.Duration(w.Lease))
	for _, client := range slices.Sorted(maps.Keys(s.Override)) {
		if o := s.Override[client]; o.Start != nil && *o.Start > 0 {
			text += fmt.Sprintf(" %s comes at %v.", client, *o.Start)
		}
	}
	return text
}

// howOften counts the acquires of clients in words.
func howOften(holds, clients int) string {
	switch {
	case holds == clients && clients > 1:
		return "once each"
	case holds == 1:
		return "once"
	default:
		return fmt.Sprintf("%d times in all", holds)
	}
}

// faultWords is a fault in a sentence: whom it strikes and when, and what it is.
func faultWords(f faults.Spec) string {
	text := f.Fault + " strikes " + english.And(f.Target)
	if len(f.Peer) > 0 {
		text = f.Fault + " strikes between " + english.And(f.Target) + " and " + english.And(f.Peer)
	}
	text += " " + f.When()
	for _, p := range []struct{ name, is string }{
		{"by", said(f.By)}, {"jitter", said(f.Jitter)}, {"rate", said(f.Rate)},
		{"data", f.Data}, {"direction", f.Direction}, {"to", f.To}, {"mode", f.Mode},
	} {
		if p.is != "" {
			text += ", " + p.name + " " + p.is
		}
	}
	if k, ok := faults.Lookup(f.Fault); ok {
		text += ": " + k.Summary
	}
	return text + "."
}

// said formats a number; 0 is "".
func said[N faults.Duration | float64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// sentence ends with a full stop, on one line.
func sentence(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".") + "."
}
