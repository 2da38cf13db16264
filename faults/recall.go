package faults

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Recall adds traits to the faults of a history of an older version. It derives
// them from the names, and from the descriptions in the events. For a lost
// parameter it chooses the value that excuses more. It adds a fault that struck
// and is missing in the header. For an unknown fault it returns a
// [*checker.InvalidError].
func Recall(h *history.Header, events []history.Event) error {
	h.Faults = slices.Clone(h.Faults)
	details := map[int]string{}
	planned := map[int]bool{}
	for _, f := range h.Faults {
		planned[f.ID] = true
	}
	for i := range events {
		if f := events[i].Fault; f != nil && f.Phase == PhaseStart {
			details[f.ID] = f.Detail
			if !planned[f.ID] {
				planned[f.ID] = true
				h.Faults = append(h.Faults, history.PlannedFault{ID: f.ID, Fault: f.Name, Targets: f.Targets})
			}
		}
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		if f.Traits.Known() {
			continue
		}
		k, ok := Lookup(f.Fault)
		if !ok {
			return &history.InvalidError{Line: 1, Reason: fmt.Sprintf(
				"fault %d is %q, which this version does not know, and the header does not give its traits; docs/history.md lists them", f.ID, f.Fault)}
		}
		s := k.unknown()
		if k.Recall != nil {
			k.Recall(details[f.ID], &s)
		}
		f.Traits = k.Traits(s)
	}
	return nil
}
