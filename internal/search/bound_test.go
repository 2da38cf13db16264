package search_test

import (
	"math"
	"testing"

	"github.com/holdfast-go/holdfast/internal/search"
)

// The bound must be the one of Clopper and Pearson, about three in n.
func TestUpperBound(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 1: 0.95, 10: 0.2589, 59: 0.0495, 100: 0.02951, 100_000: 2.9957e-5} {
		if got := search.UpperBound(n); math.Abs(got-want) > 0.001*want+1e-9 {
			t.Errorf("after %d runs: %g, not %g", n, got, want)
		}
	}
}
