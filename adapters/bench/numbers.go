package main

import (
	"slices"
	"time"
)

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// quantile of sorted values; 0 of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func median(values []float64) float64 { return spreadOf(values).median }

// spread is the median of values and what half of them lie between.
type spread struct{ low, median, high float64 }

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	return spread{quantile(s, 0.25), quantile(s, 0.5), quantile(s, 0.75)}
}

// ratios compares round by round, so that a slow round of the machine is slow
// for both.
func ratios(a, b []float64) spread {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return spreadOf(r)
}
