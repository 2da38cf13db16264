// Package explore looks for unknown violations of a lock: it plays random
// scenarios, and groups the violations by cause.
package explore

import "math"

// UpperBound is how likely, per run, a violation can still be when none was
// seen in n independent runs: 95 % of all probabilities that would have been
// silent for so long are below it (Clopper and Pearson; about 3/n). It is 1
// when n is 0.
func UpperBound(n int) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}
