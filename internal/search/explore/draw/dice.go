package draw

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
)

// dice lets a fault draw its own parameters.
type dice struct{ d *draw }

func (x dice) Number(lo, hi int) int                        { return x.d.number(lo, hi) }
func (x dice) Chance(n int) bool                            { return x.d.chance(n) }
func (x dice) Between(lo, hi time.Duration) faults.Duration { return x.d.between(lo, hi) }
func (x dice) Lasts() faults.Duration                       { return x.d.lasts() }
func (x dice) Lease() time.Duration                         { return x.d.lease() }
func (x dice) Topology() faults.Topology                    { return x.d.top }
func (x dice) Survivable() bool                             { return x.d.Vocabulary.Survivable }
func (x dice) Primary() string                              { return x.d.primary() }
func (x dice) Replica(of string) string                     { return x.d.replica(of) }
func (x dice) Peers() faults.Names                          { return x.d.peers() }

// traits are the possible effects of a kind of fault, with any parameters.
func traits(fault string) history.Traits {
	k, ok := faults.Lookup(fault)
	if !ok {
		return history.Traits{}
	}
	return k.Possible()
}
