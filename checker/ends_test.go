package checker

import (
	"math/rand/v2"
	"testing"
)

// A judge that misses an interval, or sees one that is over, excuses or accuses
// the wrong thing.
func TestEndsFindWhatReachesATime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 15, 16, 17, 255, 256, 257, 5_000} {
		var x ends
		var all []int64
		for i := range n {
			to := int64(i) + r.Int64N(20)
			if r.IntN(100) == 0 {
				to = r.Int64N(int64(2 * n))
			}
			x.addEnd(to)
			all = append(all, to)
		}
		for range 2_000 {
			i, from := r.IntN(n+1), r.Int64N(int64(2*n+2))
			want := i - 1
			for want >= 0 && all[want] < from {
				want--
			}
			if got := x.lastBefore(i, from); got != want {
				t.Fatalf("%d intervals: before(%d, %d) is %d, want %d", n, i, from, got, want)
			}
		}
	}
}
