package report

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
)

// families are what faults with some traits amount to. The first that fits any
// fault of a scenario is the family of the scenario, by which reports group it.
var families = []struct {
	name string
	fits func(t history.Traits) bool
}{
	{"failover", func(t history.Traits) bool { return t.Promotes }},
	{"clock", func(t history.Traits) bool { return t.MovesClock }},
	{"operator", func(t history.Traits) bool { return t.DeletesKeys || t.ForgetsScripts && !t.StopsNode }},
	{"crash", func(t history.Traits) bool { return t.EndsProcess || t.StopsNode || t.LosesWrites }},
	{"partition", func(t history.Traits) bool { return t.Cuts || t.HoldsReplication || t.Refuses }},
	{"lost replies", func(t history.Traits) bool {
		return t.LosesReplies || t.LosesNotices || t.HoldsSubscriptions || t.BreaksConnections || t.Cancels || t.HoldsReplies || t.HoldsRequests
	}},
	{"pause", func(t history.Traits) bool { return t.StopsProcess }},
}

// noFault is the family of a scenario in which nothing is broken.
const noFault = "no fault"

// allFamilies lists all of them in the order in which reports show them.
func allFamilies() []string {
	all := []string{noFault}
	for _, h := range families {
		all = append(all, h.name)
	}
	return all
}

// familyOf says what a list of faults amounts to.
func familyOf(specs []faults.Spec) string {
	for _, h := range families {
		for _, s := range specs {
			if k, ok := faults.Lookup(s.Fault); ok && h.fits(k.Traits(s)) {
				return h.name
			}
		}
	}
	return noFault
}
