package search

import "math"

// UpperBound is the highest probability of a violation per run, with 95 %
// confidence, after n independent runs without one (Clopper and Pearson; about
// 3/n). It is 1 if n is 0.
func UpperBound(n int) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}
