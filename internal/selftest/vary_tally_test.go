package selftest

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker"
)

func TestKindsOfSurprise(t *testing.T) {
	for _, tt := range []struct {
		verdict checker.Verdict
		want    checker.Outcome
		class   string
		kind    string
	}{
		{checker.Verdict{Outcome: checker.OutcomeOK}, checker.OutcomeOK, "", ""},
		{checker.Verdict{Outcome: checker.Violated}, checker.Violated, "", ""},
		{checker.Verdict{Outcome: checker.Unknown}, checker.Unknown, "", ""},
		{checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}, checker.Violated, "", ""},
		{checker.Verdict{Outcome: checker.Violated}, checker.OutcomeOK, "", falseAlarm},
		{checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}, checker.Violated, checker.LeaseOutlived, falseAlarm},
		{checker.Verdict{Outcome: checker.Violated, Class: checker.LeaseOutlived}, checker.Violated, checker.ContractBroken, missed},
		{checker.Verdict{Outcome: checker.OutcomeOK}, checker.Violated, "", missed},
		{checker.Verdict{Outcome: checker.Unknown}, checker.OutcomeOK, "", unknown},
		{checker.Verdict{Outcome: checker.Unknown}, checker.Violated, "", unknown},
	} {
		if got := kindOf(tt.verdict, tt.want, tt.class); got != tt.kind {
			t.Errorf("%+v, expected %s %q: %q, want %q", tt.verdict, tt.want, tt.class, got, tt.kind)
		}
	}
}
