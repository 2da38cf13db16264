// Package chance computes the probabilities that counts support.
package chance

import "math"

// z is half the width of the middle 95 % of a normal distribution, in standard
// deviations.
const z = 1.959963984540054

// Interval is Wilson's 95 % interval of the probability of an event that occurred
// hits times. It holds for small numbers and for no hits at all. Without any
// trial it is from 0 to 1.
func Interval(hits, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	n, share := float64(of), float64(hits)/float64(of)
	centre := share + z*z/(2*n)
	reach := z * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	low, high = (centre-reach)/(1+z*z/n), (centre+reach)/(1+z*z/n)
	if hits == 0 {
		low = 0
	}
	if hits == of {
		high = 1
	}
	return low, high
}
