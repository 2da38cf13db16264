// Package random gives each purpose of a run its own seeded source.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns a source of randomness for one purpose of one run. Equal seeds
// and labels give equal streams. Streams with other labels are independent, so a
// party that draws more numbers changes nothing for the others.
func Stream(seed uint64, labels ...string) *rand.Rand {
	h := fnv.New64a()
	for _, l := range labels {
		h.Write([]byte(l))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
