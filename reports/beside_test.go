package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports/results"
)

// claiming is a run of a lock with claims, which breaks as given.
func claiming(lock string, claims []checker.Property, violated map[checker.Property]checker.Verdict) results.Run {
	r := cardRun("pause", lock)
	r.AsExpected = true
	r.Verdicts[checker.Ownership] = checker.Verdict{Outcome: checker.OutcomeOK}
	for _, p := range claims {
		r.Verdicts[p] = checker.Verdict{Outcome: checker.OutcomeOK}
	}
	for p, v := range violated {
		v.Outcome = checker.Violated
		r.Verdicts[p] = v
	}
	return r
}

// The example beside a violation is a guarantee: the reference, or a lock with fencing or
// renewal. A lock that survives because it would rather stay taken for ever never comes
// before them.
func TestAnExampleIsAGuarantee(t *testing.T) {
	outlived := map[checker.Property]checker.Verdict{checker.Exclusion: {Class: checker.LeaseOutlived}}
	lost := map[checker.Property]checker.Verdict{checker.Exclusion: {Class: checker.LeaseOutlived}, checker.ResourceSafe: {}}
	breaks := claiming("set-px", []checker.Property{checker.Lease}, lost)
	forever := claiming("setnx", nil, nil)
	lease := claiming("leased", []checker.Property{checker.Lease}, nil)
	renews := claiming("renews", []checker.Property{checker.Lease, checker.Renewal}, nil)
	tokens := claiming("tokens", []checker.Property{checker.Lease, checker.Fencing}, outlived)
	tokens.Because = map[checker.Property]string{checker.Exclusion: "The resource refuses the write."}
	reference := claiming("reentrant", []checker.Property{checker.Lease}, nil)
	for want, others := range map[string][]*results.Run{
		"reentrant": {&forever, &renews, &reference},
		"renews":    {&forever, &lease, &renews},
		"leased":    {&forever, &tokens, &lease},
		"tokens":    {&forever, &tokens},
		"setnx":     {&forever},
	} {
		got := chooseBeside(&breaks, append([]*results.Run{&breaks}, others...), "reentrant")
		if got == nil || got.Lock != want {
			t.Errorf("beside it stands %+v, want %s", got, want)
		}
	}
	if got := chooseBeside(&breaks, []*results.Run{&breaks}, "reentrant"); got != nil {
		t.Errorf("it stands beside itself: %+v", got)
	}
	failed := claiming("renews", nil, lost)
	if got := chooseBeside(&breaks, []*results.Run{&renews, &failed, &lease}, "reentrant"); got != &lease {
		t.Errorf("a lock that breaks with another seed is the example: %+v", got)
	}
	if does, why := whyBeside(&tokens, "It waits."); does != "loses no update" || why != "The resource refuses the write." {
		t.Errorf("%q, %q", does, why)
	}
	if does, why := whyBeside(&forever, "It waits."); does != "survives" || !strings.HasPrefix(why, "It waits. This is no remedy: ") {
		t.Errorf("%q, %q", does, why)
	}
}
