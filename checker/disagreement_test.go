package checker

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// A wrong judge is found out, and the error has a history that shows it.
func TestDisagreement(t *testing.T) {
	// This judge takes every release for the end of all holds.
	blind := func(ops []linear.Op, r linear.Rules, budget time.Duration) linear.Ruling {
		ops = slices.Clone(ops)
		for i := range ops {
			if ops[i].Kind == linear.GotLock {
				ops[i].Count = 1
			}
		}
		return linear.Fast(ops, r, budget)
	}
	h := longRun{ops: 2_000}.history()
	r, err := Judge(h, Options{fast: blind})
	var dispute *linear.DisagreementError
	if !errors.As(err, &dispute) {
		t.Fatalf("got %v", err)
	}
	if v := r.Verdicts[Linearizable]; v.Outcome != Unknown || v.Reason == "" {
		t.Errorf("disputed verdict %+v", v)
	}
	if dispute.Fast != Violated || dispute.Porcupine != OutcomeOK || dispute.Lock != "stock-1" || len(dispute.Ops) == 0 {
		t.Errorf("%+v", dispute)
	}
	if want := `the judges disagree on lock "stock-1": fast says violated, porcupine ok, operations [`; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %s", err)
	}
	// A nested acquire shows it; without one before it, it is illegal, and then
	// it is this judge that does not mind.
	if len(dispute.Listing) != 1 || !strings.Contains(dispute.Listing[0], "acquire, count 2, lease 1000000000 ns; called ") {
		t.Errorf("listing:\n%s", strings.Join(dispute.Listing, "\n"))
	}
	if dispute.Minimal == nil {
		t.Fatal("no history")
	}
	var b bytes.Buffer
	if err := dispute.Minimal.Encode(&b); err != nil {
		t.Fatal(err)
	}
	again, err := history.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(again, Options{fast: blind}); !errors.As(err, &dispute) {
		t.Errorf("the minimal history shows nothing: %v", err)
	}
}
