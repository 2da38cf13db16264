package faults

import (
	"cmp"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/checker/history"
)

// kinds are the faults that the files of this package register.
var kinds []Kind

// register adds a kind of fault to the vocabulary.
func register(k Kind) struct{} {
	kinds = append(kinds, checked(k))
	return struct{}{}
}

// vocabulary is every kind by name. No file registers a kind after the
// initialization of the package.
var vocabulary = sync.OnceValue(func() []Kind {
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return kinds
})

// Vocabulary lists every kind of fault, sorted by name.
func Vocabulary() []Kind { return slices.Clone(vocabulary()) }

// Lookup finds a kind of fault by its name.
func Lookup(name string) (Kind, bool) {
	i, ok := slices.BinarySearchFunc(vocabulary(), name, func(k Kind, name string) int { return cmp.Compare(k.Name, name) })
	if !ok {
		return Kind{}, false
	}
	return vocabulary()[i], true
}

// checked adds the checks of every fault before those of the kind.
func checked(k Kind) Kind {
	own := k.Available
	k.Available = func(s Spec, t Topology) error {
		if err := checkCommon(k, s, t); err != nil {
			return err
		}
		if own == nil {
			return nil
		}
		return own(s, t)
	}
	return k
}

// strikeFunc injects a fault from a Spec that Available has accepted. seed is the source of
// any randomness, different for every fault of a run. It returns a description and a
// function that undoes the fault; heal is nil for an instant one. It must not wait for the
// struck party, because the anchored moment waits for it.
type strikeFunc func(w World, s Spec, t Topology, seed uint64) (detail string, heal func() error, err error)

// families are the groups of scenarios in reports, by the traits of their faults.
// The first one that fits any fault of a scenario counts.
var families = []struct {
	name string
	fits func(t history.Traits) bool
}{
	{"failover", func(t history.Traits) bool { return t.Promotes }},
	{"clock", func(t history.Traits) bool { return t.MovesClock || t.MovesClientClock }},
	{operator, func(t history.Traits) bool {
		return t.DeletesKeys || t.RefusesGrants || t.ForgetsScripts && !t.StopsNode
	}},
	{"crash", func(t history.Traits) bool { return t.EndsProcess || t.StopsNode || t.LosesWrites }},
	{"partition", func(t history.Traits) bool { return t.Cuts || t.HoldsReplication || t.Refuses }},
	{"lost replies", func(t history.Traits) bool {
		return t.LosesReplies || t.LosesNotices || t.HoldsSubscriptions || t.BreaksConnections || t.Cancels || t.HoldsReplies || t.HoldsRequests
	}},
	{"pause", func(t history.Traits) bool { return t.StopsProcess }},
}

const (
	noFault  = "no fault" // the family of a scenario without faults
	operator = "operator" // that of what people do to a server, and hazards do not
)

// ByOperators reports whether people, and not a hazard, cause the faults of a family.
func ByOperators(family string) bool { return family == operator }

// Families lists the families in the order of reports.
func Families() []string {
	all := []string{noFault}
	for _, h := range families {
		all = append(all, h.name)
	}
	return all
}

// FamilyOf returns the family of a list of faults.
func FamilyOf(specs []Spec) string {
	for _, h := range families {
		for _, s := range specs {
			if k, ok := Lookup(s.Fault); ok && h.fits(k.Traits(s)) {
				return h.name
			}
		}
	}
	return noFault
}
