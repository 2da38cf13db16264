// Package random gives every purpose of a run a seeded source of its own.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns a source of randomness of its own for one purpose of one
// run. Two streams of the same seed and labels are the same; streams with
// other labels have nothing to do with each other, so that one party drawing
// more numbers changes nothing for the others.
func Stream(seed uint64, labels ...string) *rand.Rand {
	h := fnv.New64a()
	for _, l := range labels {
		h.Write([]byte(l))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
