package draw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
)

// Vocabulary is what may be drawn.
type Vocabulary struct {
	// Faults are the names of the faults, sorted.
	Faults []string `json:"faults"`
	// Survivable leaves out what no lock of this kind survives: see
	// [NewVocabulary].
	Survivable bool `json:"survivable,omitempty"`
}

// deadly reports whether a fault takes a granted hold away behind the lock's back,
// or moves the clock that leases are counted on, whatever its parameters are. A
// restart need not: the server may keep its data.
func deadly(t history.Traits) bool { return t.Promotes || t.DeletesKeys || t.MovesClock }

// NewVocabulary returns the faults that are named in only, or all when it is
// empty, but for those named in without. Survivable leaves out what the
// reference lock cannot survive: a failover, a restart that loses data, deleted
// keys, clocks that are moved, and pauses that last past a lease. An error
// names a fault that does not exist, or says that none is left.
func NewVocabulary(only, without []string, survivable bool) (Vocabulary, error) {
	v := Vocabulary{Survivable: survivable}
	known := Names()
	for _, name := range slices.Concat(only, without) {
		if !slices.Contains(known, name) {
			return v, fmt.Errorf("unknown fault %q", name)
		}
	}
	for _, name := range known {
		switch {
		case len(only) > 0 && !slices.Contains(only, name):
		case slices.Contains(without, name):
		case survivable && deadly(traits(name)):
		default:
			v.Faults = append(v.Faults, name)
		}
	}
	if len(v.Faults) == 0 {
		return v, errors.New("no fault is left to draw")
	}
	return v, nil
}

// Names are the names of all faults, sorted.
func Names() []string {
	var names []string
	for _, k := range faults.Vocabulary() {
		names = append(names, k.Name)
	}
	return names
}

// some is a random half of the vocabulary, at least one fault: what a run
// leaves out gives the rest the room to do something by itself.
func (v Vocabulary) some(rng *rand.Rand) []string {
	names := slices.Clone(v.Faults)
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:(len(names)+1)/2]
	slices.Sort(names)
	return names
}
