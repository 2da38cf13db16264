package exhaustive

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/faults"
)

// A ladder joins durations of one fault alone. With two faults in it, the run of one
// would count as that of the other, and the search would not play it.
func TestLaddersOf(t *testing.T) {
	of := func(fault string, lasts faults.Duration, class string) variant {
		return variant{Spec: faults.Spec{Fault: fault, Target: faults.Names{"client-1"}, For: lasts}, Class: class}
	}
	got := laddersOf([]variant{
		of("partition", 50*ms, "short"), of("partition", 7000*ms, "long"), of("partition", 0, forEver),
		of("crash", 0, atOnce),
		of("node-restart", 50*ms, "short"), of("node-restart", 0, atOnce), // the restart itself
		of("pause", 50*ms, "short"), of("delay", 50*ms, "short"),
	})
	want := []ladder{{0, 1, 2}, {3}, {4}, {5}, {6}, {7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The worker must play a placement unless a shorter fault of the same pair lasted for as
// long as the workload.
func TestAShorterFaultDecidesLongerOnes(t *testing.T) {
	spec := func(lasts time.Duration) faults.Spec {
		return faults.Spec{Fault: "partition", For: faults.Duration(lasts)}
	}
	first, second := []time.Duration{1, 2}, []time.Duration{3, 4, 5}
	for _, tt := range []struct {
		name string
		// ends says which faults of a run end with the workload: those of these lengths
		// at least.
		first, second time.Duration
		want          []bool // played
	}{
		{"none", 9, 9, []bool{true, true, true, true, true, true}},
		{"the second one", 9, 4, []bool{true, true, false, true, true, false}},
		{"the first one", 1, 9, []bool{true, true, true, false, false, false}},
		{"both", 1, 3, []bool{true, false, false, false, false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := order{Wide: len(second)}
			for _, a := range first {
				for _, b := range second {
					o.Cells = append(o.Cells, cellOrder{Faults: []faults.Spec{spec(a), spec(b)}})
				}
			}
			played := make([]bool, len(o.Cells))
			all, err := o.play(func(c cellOrder, _ []faults.Spec, _ bool) (seen, error) {
				a, b := time.Duration(c.Faults[0].For), time.Duration(c.Faults[1].For)
				played[int(a-first[0])*len(second)+int(b-second[0])] = true
				return seen{Unknown: c.Name, Outlasts: []bool{a >= tt.first, b >= tt.second}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, played); diff != "" {
				t.Error(diff)
			}
			for i, s := range all {
				if s.Same == played[i] {
					t.Errorf("placement %d: played %v, the same as another one %v", i, played[i], s.Same)
				}
			}
		})
	}
}

// A wrong rule must show: the audit plays what a shorter fault decides, and compares.
func TestTheAuditComparesWithAShorterFault(t *testing.T) {
	o := order{Wide: 2, Cells: []cellOrder{
		{Name: "short", Faults: []faults.Spec{{For: 1}}},
		{Name: "long", Faults: []faults.Spec{{For: 2}}, Audit: true},
	}}
	all, err := o.play(func(c cellOrder, _ []faults.Spec, _ bool) (seen, error) {
		return seen{Unknown: c.Name, Outlasts: []bool{true}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if long := all[1]; !long.Audited || !long.Same || long.Differs == "" {
		t.Errorf("got %+v, want a difference", long)
	}
}
