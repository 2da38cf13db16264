package sim

import oldrand "math/rand"

// seedGlobal seeds math/rand's global source, from which go-redis draws its retry
// back-off and its cluster node. It works only with randseednop=0 in GODEBUG,
// which this module's go.mod sets.
func seedGlobal(seed uint64) {
	//lint:ignore SA1019 nothing else reaches the source that go-redis uses
	oldrand.Seed(int64(seed))
}
