package draw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
)

// Vocabulary is the set of available faults.
type Vocabulary struct {
	// Faults are the names of the faults, sorted.
	Faults []string `json:"faults"`
	// Survivable leaves out what no lock of this kind survives: see
	// [NewVocabulary].
	Survivable bool `json:"survivable,omitempty"`
}

// deadly reports whether a fault removes a granted hold behind the lock's back, or
// moves the clock of leases, with any parameters. A restart does not always: the
// server may keep its data.
func deadly(t history.Traits) bool { return t.Promotes || t.DeletesKeys || t.MovesClock }

// NewVocabulary returns the faults named in only, or all if it is empty, except those
// named in without. With survivable it omits the faults that the reference lock does not
// claim to survive. These are failovers, restarts that lose data, deleted keys, moved
// clocks, and pauses past a lease. The error names an unknown fault, or reports that none
// remains.
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

// Names are the names of the faults that exploration draws, sorted.
func Names() []string {
	var names []string
	for _, k := range faults.Vocabulary() {
		if !k.Undrawn {
			names = append(names, k.Name)
		}
	}
	return names
}

// some is a random half of the vocabulary, at least one fault, so that the
// remaining faults can act alone.
func (v Vocabulary) some(rng *rand.Rand) []string {
	names := slices.Clone(v.Faults)
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:(len(names)+1)/2]
	slices.Sort(names)
	return names
}
