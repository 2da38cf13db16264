package sim

import (
	"hash/fnv"
	oldrand "math/rand"
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

// seedGlobal seeds math/rand's global source, from which go-redis draws its
// retry back-off and which node of a cluster it asks. It has an effect only
// where GODEBUG has randseednop=0, as this module's go.mod says.
func seedGlobal(seed uint64) {
	//lint:ignore SA1019 nothing else reaches the source that go-redis uses
	oldrand.Seed(int64(seed))
}
