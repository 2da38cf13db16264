package sim

import oldrand "math/rand"

// seedGlobal seeds math/rand's global source, from which go-redis draws its
// retry back-off and which node of a cluster it asks. It has an effect only
// where GODEBUG has randseednop=0, as this module's go.mod says.
func seedGlobal(seed uint64) {
	//lint:ignore SA1019 nothing else reaches the source that go-redis uses
	oldrand.Seed(int64(seed))
}
