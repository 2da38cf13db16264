package main

import (
	"fmt"
	"maps"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/scenarios"
)

// doubts is with how many other seeds the original is asked, in the scenario of
// a find, whether it does the same: a mutant sends other messages, so its
// messages take other times, and a scenario may be a matter of luck for both.
const doubts = 4

// onlyMutant leaves of the verdicts on a mutant those violations that its
// original never shows in the same scenario. What came out unknown of the
// original counts as shown, and so does any violation of exclusion where the
// mutant's is that of a lease outlived.
func onlyMutant(verdicts map[checker.Property]checker.Verdict, s *scenarios.Scenario, original string, seed uint64) error {
	l, err := scenarios.FindSubject(original)
	if err != nil {
		return err
	}
	maps.DeleteFunc(verdicts, func(_ checker.Property, v checker.Verdict) bool { return v.Outcome != checker.Violated })
	for n := uint64(0); n <= doubts && len(verdicts) > 0; n++ {
		p, err := scenarios.Play(s, l, seed+n, version)
		if err != nil {
			return fmt.Errorf("%s with %s: %w", s.Name, original, err)
		}
		of, err := checker.Judge(explore.Judged(p), checker.Options{})
		if err != nil {
			return fmt.Errorf("%s with %s, seed %d: %w", s.Name, original, seed+n, err)
		}
		maps.DeleteFunc(verdicts, func(property checker.Property, v checker.Verdict) bool {
			o := of.Verdicts[property]
			worse := v.Class == checker.ContractBroken && o.Class == checker.LeaseOutlived
			return o.Outcome != checker.Good && !worse
		})
	}
	return nil
}
