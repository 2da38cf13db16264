package report

import (
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/faults"
)

// Every fault belongs to a family: a report that groups by families leaves none out.
func TestEveryFaultHasAFamily(t *testing.T) {
	for _, k := range faults.Vocabulary() {
		h := familyOf([]faults.Spec{{Fault: k.Name}})
		if h == noFault || !slices.Contains(allFamilies(), h) {
			t.Errorf("%s is of no family: %q", k.Name, h)
		}
	}
	if h := familyOf([]faults.Spec{{Fault: "cut-replication"}, {Fault: "failover"}}); h != "failover" {
		t.Errorf("a failover whose replica was cut off is %q", h)
	}
	if h := familyOf(nil); h != noFault {
		t.Errorf("no fault is %q", h)
	}
}
