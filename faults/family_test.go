package faults

import (
	"slices"
	"testing"
)

// Every fault belongs to a family, so that a report with groups leaves none out.
func TestEveryFaultHasAFamily(t *testing.T) {
	for _, k := range Vocabulary() {
		h := FamilyOf([]Spec{{Fault: k.Name}})
		if h == noFault || !slices.Contains(Families(), h) {
			t.Errorf("%s is of no family: %q", k.Name, h)
		}
	}
	if h := FamilyOf([]Spec{{Fault: "cut-replication"}, {Fault: "failover"}}); h != "failover" {
		t.Errorf("a failover whose replica was cut off is %q", h)
	}
	if h := FamilyOf(nil); h != noFault {
		t.Errorf("no fault is %q", h)
	}
}
