package suite

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const acceptedList = `
accepted:
  - {scenario: holder-pause, lock: mine, property: exclusion, class: lease outlived, reason: our resource is fenced}
  - {scenario: clock-jump, lock: mine, property: lease, reason: our clocks are slewed}
  - {scenario: key-deleted, lock: mine, undecided: true, reason: it never asks}
  - {scenario: holder-pause, lock: mine, property: resource, sometimes: true, reason: only if both write at once}
`

func run(scenario string, violated ...checker.Property) results.Run {
	r := results.Run{Scenario: scenario, Lock: "mine", Verdicts: map[checker.Property]checker.Verdict{}, Expected: map[checker.Property]checker.Outcome{}}
	for _, p := range []checker.Property{checker.Exclusion, checker.Lease, checker.Progress, checker.ResourceSafe} {
		r.Verdicts[p], r.Expected[p] = checker.Verdict{Outcome: checker.OutcomeOK}, checker.OutcomeOK
	}
	for _, p := range violated {
		v := checker.Verdict{Outcome: checker.Violated}
		if p == checker.Exclusion {
			v.Class = checker.LeaseOutlived
		}
		r.Verdicts[p] = v
	}
	r.AsExpected = len(violated) == 0
	return r
}

// A list that accepts one of two violations does not accept the run, and leaves it as it
// was.
func TestAcceptsARun(t *testing.T) {
	l, err := parseAccepted([]byte(acceptedList))
	must.Succeed(t, err)
	for _, c := range []struct {
		run  results.Run
		want bool
	}{
		{run("holder-pause", checker.Exclusion, checker.ResourceSafe), true},
		{run("holder-pause", checker.Exclusion, checker.Progress), false},
		{run("contention", checker.Exclusion), false},
		{run("contention"), true},
	} {
		if got := l.Accepts(c.run); got != c.want || c.run.Accepted != nil {
			t.Errorf("a run of %s with %v: %v, and %v are marked; want %v, and none", c.run.Scenario, c.run.Verdicts, got, c.run.Accepted, c.want)
		}
	}
}

// A cause that depends on timing shows in other cells each time. One entry stands for
// all of them, but only for verdicts that say so.
func TestACauseInEveryScenario(t *testing.T) {
	l, err := parseAccepted([]byte(`
accepted:
  - {property: progress, says: slept on a free lock, sometimes: true, reason: the message is lost}
  - {lock: mine, says: only, undecided: true, reason: it sleeps for too long}
  - {scenario: contention, lock: mine, property: progress, sometimes: true, reason: the one of this cell}
`))
	must.Succeed(t, err)
	says := func(scenario, reason string, outcome checker.Outcome) results.Run {
		r := run(scenario)
		r.Verdicts[checker.Progress], r.AsExpected = checker.Verdict{Outcome: outcome, Reason: reason}, false
		return r
	}
	for _, c := range []struct {
		run  results.Run
		want string // the reason; "" for not accepted
	}{
		{says("holder-pause", "client-1/1 slept on a free lock from 1 s", checker.Violated), "the message is lost"},
		{says("contention", "client-1/1 slept on a free lock from 1 s", checker.Violated), "the one of this cell"},
		{says("holder-pause", "client-1/1 never returned", checker.Violated), ""},
		{says("holder-pause", "only 10 grants", checker.Unknown), "it sleeps for too long"},
		{says("holder-pause", "client-1/1 slept on a free lock from 1 s", checker.Unknown), ""},
	} {
		res := results.Results{Runs: []results.Run{c.run}}
		l.Apply(&res)
		if got := res.Runs[0]; got.Accepted[checker.Progress] != c.want || got.AsExpected != (c.want != "") {
			t.Errorf("%s, %q: %q, as expected %v; want %q", c.run.Scenario, c.run.Verdicts[checker.Progress].Reason, got.Accepted[checker.Progress], got.AsExpected, c.want)
		}
		if len(res.Gone) > 0 {
			t.Errorf("gone: %v, and a run need not show any", res.Gone)
		}
	}
	if got := l.Of([]string{"holder-pause"}, []string{"other"}, history.Careful); len(got.Accepted) != 1 {
		t.Errorf("of another lock: %v, want the first entry alone", got.Accepted)
	}
}

// An accepted violation passes. A new one does not, nor another property of the
// same run. One that is gone is named.
func TestApply(t *testing.T) {
	l, err := parseAccepted([]byte(acceptedList))
	must.Succeed(t, err)
	for name, c := range map[string]struct {
		runs   []results.Run
		passed []bool
		gone   []string
	}{
		"as accepted":            {[]results.Run{run("holder-pause", checker.Exclusion), run("clock-jump", checker.Lease)}, []bool{true, true}, nil},
		"one that need not show": {[]results.Run{run("holder-pause", checker.Exclusion, checker.ResourceSafe), run("clock-jump", checker.Lease)}, []bool{true, true}, nil},
		"nothing is decided": {func() []results.Run {
			undecided := func(scenario string, violated ...checker.Property) results.Run {
				r := run(scenario, violated...)
				r.Verdicts[checker.Progress], r.AsExpected = checker.Verdict{Outcome: checker.Unknown}, false
				return r
			}
			return []results.Run{run("holder-pause", checker.Exclusion), undecided("key-deleted"), undecided("key-deleted", checker.Lease), undecided("clock-jump", checker.Lease)}
		}(), []bool{true, true, false, false}, nil},
		"a new one":      {[]results.Run{run("holder-pause", checker.Exclusion, checker.Progress), run("clock-jump", checker.Lease)}, []bool{false, true}, nil},
		"one is gone":    {[]results.Run{run("holder-pause"), run("clock-jump", checker.Lease)}, []bool{true, true}, []string{"exclusion of mine in holder-pause (lease outlived)"}},
		"one not played": {[]results.Run{run("holder-pause", checker.Exclusion)}, []bool{true}, []string{"lease of mine in clock-jump"}},
		"another class": {func() []results.Run {
			r := run("holder-pause", checker.Exclusion)
			r.Verdicts[checker.Exclusion] = checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}
			return []results.Run{r, run("clock-jump", checker.Lease)}
		}(), []bool{false, true}, []string{"exclusion of mine in holder-pause (lease outlived)"}},
	} {
		res := results.Results{Runs: c.runs}
		l.Apply(&res)
		var passed []bool
		for i := range res.Runs {
			passed = append(passed, res.Runs[i].Passed())
		}
		if !slices.Equal(passed, c.passed) || !slices.Equal(res.Gone, c.gone) {
			t.Errorf("%s: passed %v, want %v; gone %q, want %q", name, passed, c.passed, res.Gone, c.gone)
		}
	}
}

// A command that names scenarios, locks or a kind of user misses no entry of others.
func TestAcceptedOf(t *testing.T) {
	l := Accepted{[]locks.Known{{Scenario: "holder-pause", Lock: "mine"}, {Scenario: "holder-pause", Lock: "mine (careful)"}, {Scenario: "clock-jump", Lock: "yours"}}}
	for name, c := range map[string]struct {
		scenarios, locks []string
		user             string
		want             []int
	}{
		"nothing named":     {nil, nil, "both", []int{0, 1, 2}},
		"a scenario":        {[]string{"clock-jump"}, nil, "both", []int{2}},
		"a lock":            {nil, []string{"mine"}, "both", []int{0, 1}},
		"careful users":     {nil, nil, "careful", []int{1}},
		"careless users":    {nil, nil, "careless", []int{0, 2}},
		"all three":         {[]string{"holder-pause"}, []string{"mine"}, "careless", []int{0}},
		"all locks":         {nil, []string{"all"}, "both", []int{0, 1, 2}},
		"a lock not listed": {nil, []string{"theirs"}, "both", nil},
	} {
		var want []locks.Known
		for _, i := range c.want {
			want = append(want, l.Accepted[i])
		}
		if got := l.Of(c.scenarios, c.locks, c.user).Accepted; !slices.EqualFunc(got, want, func(a, b locks.Known) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestBadLists(t *testing.T) {
	for src, want := range map[string]string{
		"accepted: [{scenario: a, lock: b, property: exclusion}]":                         "no reason",
		"accepted: [{lock: b, property: lease, sometimes: true, reason: c}]":              "unless says",
		"accepted: [{lock: b, property: lease, says: early, reason: c}]":                  "needs sometimes",
		"accepted: [{scenario: a, lock: b, property: speed, reason: c}]":                  `unknown property "speed"`,
		"accepted: [{scenario: a, lock: b, property: lease, undecided: true, reason: c}]": "leave out property",
		"accepted: [{scenario: a, property: exclusion, reason: c}]":                       "required",
		"acepted: []": "acepted",
		"accepted: [{scenario: a, lock: b, property: lease, reason: c}, {scenario: a, lock: b, property: lease, reason: d}]": "twice",
	} {
		if _, err := parseAccepted([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

// The lists of the adapters can be read, and each adapter of somebody else's lock
// has one.
func TestListsOfAdapters(t *testing.T) {
	lists, err := filepath.Glob("../../adapters/*/accepted.yaml")
	if err != nil || len(lists) < 10 {
		t.Fatalf("%d lists, %v", len(lists), err)
	}
	for _, path := range lists {
		if _, err := ReadAccepted(path); err != nil {
			t.Error(err)
		}
	}
}
